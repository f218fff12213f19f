import {
  ADDITIONAL_PROPERTY_FLAG,
  canExpand,
  getInputProps,
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  type BaseInputTemplateProps,
  type FieldTemplateProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type TemplatesType,
} from '@rjsf/utils';
import { createContext, use } from 'react';
import { Sign, StateIcon } from '../ui/Icon';

const Nothing = () => null;

/** Whether a field is the chosen variant of another one, which has its name and its errors already. */
const IsVariant = createContext(false);

/** A row: the name at the left, the control at the right, below it help and the error of the server. */
function FieldTemplate(props: FieldTemplateProps) {
  const isVariant = use(IsVariant);
  if (isVariant && !props.hidden && props.schema.const === undefined) {
    return (
      <IsVariant value={false}>
        {props.rawDescription && <div className="help">{props.rawDescription}</div>}
        {props.children}
      </IsVariant>
    );
  }
  return <NamedField {...props} />;
}

function NamedField(props: FieldTemplateProps) {
  const { id, children, label, rawDescription, rawErrors, required, schema, hidden, fieldPathId } = props;
  // There is nothing to choose in a variant without data.
  if (hidden || schema.const !== undefined || schema.type === 'null') return <div hidden>{children}</div>;
  const errors = rawErrors?.length ? <Errors id={id} errors={rawErrors} /> : null;
  const last = fieldPathId.path.at(-1);
  const isRoot = last === undefined;
  const isItem = typeof last === 'number';
  if (isRoot && isContainer(schema)) return <div>{children}{errors}</div>;
  const isAdditional = ADDITIONAL_PROPERTY_FLAG in schema;
  const help = rawDescription && !isRoot ? <div className="help">{rawDescription}</div> : null;
  if (isItem) {
    return (
      <div className="item-field">
        {children}
        {help}
        {errors}
      </div>
    );
  }
  const name = isRoot ? 'Value' : label;
  const optional = !required && !isRoot && <span className="opt">optional</span>;
  if (isContainer(schema) && schema.type !== 'array' && !isAdditional) {
    return (
      <div className="field group" role="group" aria-label={name}>
        <div className="l">
          {name} {optional}
        </div>
        {help}
        <div className="group-in">{children}</div>
        {errors}
      </div>
    );
  }
  return (
    <div className="field">
      {isAdditional ? (
        <input type="text" aria-label="Key" defaultValue={label} onBlur={props.onKeyRenameBlur} />
      ) : hasOneControl(schema) ? (
        <label htmlFor={id}>
          {name} {optional}
        </label>
      ) : (
        <div className="l" id={`${id}__name`}>
          {name} {optional}
        </div>
      )}
      <div className={isAdditional ? 'with-button' : 'control'}>
        {children}
        {isAdditional && (
          <button type="button" className="ghost icon" aria-label={`Remove ${label}`} onClick={props.onRemoveProperty}>
            <Sign name="close" />
          </button>
        )}
      </div>
      {help}
      {errors}
    </div>
  );
}

const isSelect = (schema: FieldTemplateProps['schema']) =>
  Array.isArray(schema.enum) || Boolean(schema.oneOf?.every((variant) => typeof variant === 'object' && variant.const !== undefined));

const isContainer = (schema: FieldTemplateProps['schema']): boolean =>
  !isSelect(schema) && (schema.type === 'object' || schema.type === 'array' || schema.properties !== undefined || schema.oneOf !== undefined || schema.anyOf !== undefined);

/** Choices have a control for each, and their names as labels. */
const hasOneControl = (schema: FieldTemplateProps['schema']): boolean => schema.type !== 'array' && schema.type !== 'boolean' && !isSelect(schema);

function Errors({ id, errors }: { id: string; errors: readonly string[] }) {
  return (
    <div className="bad" id={`${id}__error`} role="alert">
      {errors.map((error) => (
        <div key={error}>
          <StateIcon look="failed" />
          {error}
        </div>
      ))}
    </div>
  );
}

function ObjectFieldTemplate({ properties, schema, uiSchema, formData, onAddProperty, required, fieldPathId }: ObjectFieldTemplateProps) {
  const isUnion = (schema.oneOf || schema.anyOf) && !schema.properties && !properties.length;
  if (isUnion) return null;
  const needed = new Set(schema.required ?? []);
  const sorted = [...properties].sort((a, b) => Number(needed.has(b.name)) - Number(needed.has(a.name)));
  return (
    <div id={fieldPathId.$id} data-required={required}>
      {sorted.map((property) => property.content)}
      {canExpand(schema, uiSchema, formData) && (
        <button type="button" className="add" onClick={onAddProperty}>
          Add an entry
        </button>
      )}
    </div>
  );
}

function ArrayFieldTemplate({ items, canAdd, onAddClick, title, fieldPathId }: ArrayFieldTemplateProps) {
  return (
    <div className="entries" role="group" aria-label={title} id={fieldPathId.$id}>
      {items}
      {canAdd && (
        <button type="button" onClick={onAddClick}>
          Add
        </button>
      )}
    </div>
  );
}

function ArrayFieldItemTemplate({ children, index, hasToolbar, buttonsProps }: ArrayFieldItemTemplateProps) {
  return (
    <div className="entry">
      <div className="grow">{children}</div>
      {hasToolbar && buttonsProps.hasRemove && (
        <button type="button" className="ghost icon" aria-label={`Remove entry ${index + 1}`} onClick={buttonsProps.onRemoveItem}>
          <Sign name="close" />
        </button>
      )}
    </div>
  );
}

function MultiSchemaFieldTemplate({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="variants">
      {selector}
      <IsVariant value={true}>{optionSchemaField}</IsVariant>
    </div>
  );
}

function BaseInputTemplate({ id, value, schema, type, options, label, disabled, readonly, onChange, onChangeOverride, rawErrors }: BaseInputTemplateProps) {
  const { type: inputType, step } = getInputProps(schema, type, options);
  const isNumber = inputType === 'number';
  const isInvalid = Boolean(rawErrors?.length);
  return (
    <div className="input">
      <input
        id={id}
        type={inputType}
        step={step}
        className={isNumber ? 'short' : undefined}
        value={value ?? ''}
        placeholder={Array.isArray(schema.type) && schema.type.includes('null') ? 'nothing' : undefined}
        aria-label={label}
        disabled={disabled}
        readOnly={readonly}
        aria-invalid={isInvalid}
        aria-describedby={isInvalid ? `${id}__error` : undefined}
        onChange={onChangeOverride ?? ((event) => onChange(event.target.value === '' ? options.emptyValue : event.target.value))}
      />
      {isNumber && <Range least={schema.minimum} most={schema.maximum} />}
    </div>
  );
}

function Range({ least, most }: { least: number | undefined; most: number | undefined }) {
  if (most === undefined) return null;
  return <span className="dim">{least === undefined ? `up to ${most}` : `${least} to ${most}`}</span>;
}

export const templates: Partial<TemplatesType> = {
  FieldTemplate,
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  MultiSchemaFieldTemplate,
  BaseInputTemplate,
  ArrayFieldTitleTemplate: Nothing,
  ArrayFieldDescriptionTemplate: Nothing,
  TitleFieldTemplate: Nothing,
  DescriptionFieldTemplate: Nothing,
  ErrorListTemplate: Nothing,
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
};
