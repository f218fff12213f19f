import type { RegistryWidgetsType, WidgetProps } from '@rjsf/utils';
import { toJson } from '../api/json';

/** The id of the value itself; a field of it has its name behind: `value_question`. */
export const ROOT_ID = 'value';

/** So many choices are shown at once. */
const MOST_RADIOS = 4;

const same = (a: unknown, b: unknown) => toJson(a) === toJson(b);

function SelectWidget(props: WidgetProps) {
  if (props.multiple) return <CheckboxesWidget {...props} />;
  return <OneOfWidget {...props} />;
}

function OneOfWidget(props: WidgetProps) {
  const { id, options, value, onChange, label, disabled, required, schema } = props;
  const choices = options.enumOptions ?? [];
  if (choices.length <= MOST_RADIOS) return <Radios {...props} choices={choices} />;
  const at = choices.findIndex((choice) => same(choice.value, value));
  return (
    <select id={id} aria-label={label} value={at} disabled={disabled} onChange={(event) => onChange(choices[Number(event.target.value)]?.value)}>
      {(!required || at < 0) && schema.default === undefined && <option value={-1} />}
      {choices.map((choice, index) => (
        <option key={index} value={index}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

function Radios({ id, value, onChange, label, disabled, choices }: WidgetProps & { choices: { value: unknown; label: string }[] }) {
  return (
    <div className="choice" role="radiogroup" aria-label={label || 'Answer'} id={id}>
      {choices.map((choice, index) => (
        <label key={index}>
          <input type="radio" name={id} disabled={disabled} checked={same(choice.value, value)} onChange={() => onChange(choice.value)} />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

const YES_NO = [
  { value: true, label: 'Yes' },
  { value: false, label: 'No' },
];

/** An answer that is yes or no is chosen; a field is off until it is set. */
function CheckboxWidget(props: WidgetProps) {
  const { id, value, onChange, disabled, label } = props;
  if (id === ROOT_ID) return <Radios {...props} choices={YES_NO} />;
  return (
    <div className="choice check">
      <label>
        <input type="checkbox" id={id} aria-label={label} disabled={disabled} checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        Yes
      </label>
    </div>
  );
}

function CheckboxesWidget({ id, options, value, onChange, label, disabled }: WidgetProps) {
  const chosen: unknown[] = Array.isArray(value) ? value : [];
  const choices = options.enumOptions ?? [];
  const toggle = (choice: unknown, on: boolean) =>
    onChange(choices.map((c) => c.value as unknown).filter((c) => (same(c, choice) ? on : chosen.some((other) => same(other, c)))));
  return (
    <div className="choice check" role="group" aria-label={label} id={id}>
      {choices.map((choice, index) => (
        <label key={index}>
          <input type="checkbox" disabled={disabled} checked={chosen.some((other) => same(other, choice.value))} onChange={(event) => toggle(choice.value, event.target.checked)} />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

function RadioWidget(props: WidgetProps) {
  return <Radios {...props} choices={props.options.enumOptions ?? YES_NO} />;
}

export const widgets: RegistryWidgetsType = { SelectWidget, RadioWidget, CheckboxWidget, CheckboxesWidget };
