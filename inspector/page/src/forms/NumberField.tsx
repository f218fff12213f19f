import { getDefaultRegistry } from '@rjsf/core';
import type { FieldProps } from '@rjsf/utils';
import { createContext, use, useMemo, type ComponentType } from 'react';
import { exactValueOf } from './exactValue';

const fields = getDefaultRegistry().fields as Record<string, ComponentType<FieldProps>>;
const RoundingField = fields.NumberField!;
const StringField = fields.StringField!;

/** Takes a value past the number field of the form library, which makes a JavaScript number of any text. */
const TakeExact = createContext<FieldProps['onChange'] | null>(null);

/** The number field of the form library, but a number that JavaScript would change is a `bigint`, or stays the text that was typed. */
export function NumberField(props: FieldProps) {
  const { registry, onChange } = props;
  const exactRegistry = useMemo(() => ({ ...registry, fields: { ...registry.fields, StringField: NumberInput } }), [registry]);
  return (
    <TakeExact value={onChange}>
      <RoundingField {...props} registry={exactRegistry} />
    </TakeExact>
  );
}

/** What is inside of the library's number field: it has the text as it is typed, and the number that is chosen of some. */
function NumberInput(props: FieldProps) {
  const { onChange: onRounded, schema } = props;
  const onExact = use(TakeExact);
  const onChange: FieldProps['onChange'] = (entered: unknown, ...more) => {
    const exact = typeof entered === 'string' ? exactValueOf(entered, schema.type) : typeof entered === 'bigint' ? entered : undefined;
    if (exact === undefined) onRounded(entered, ...more);
    else onExact?.(exact, ...more);
  };
  return <StringField {...props} onChange={onChange} />;
}
