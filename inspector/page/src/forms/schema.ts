import type { RJSFSchema } from '@rjsf/utils';
import { toJson } from '../api/json';

/** A JSON Schema as it comes from the server: an object, or `true` for anything. */
export type Schema = RJSFSchema;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a form can ask for a value of this schema; else there is an editor for JSON. */
export function hasForm(schema: unknown): schema is Schema {
  return isObject(schema) && ['type', '$ref', 'oneOf', 'anyOf', 'enum', 'const', 'properties'].some((key) => key in schema);
}

export const isNothing = (schema: unknown): boolean => isObject(schema) && schema.type === 'null';

/**
 * The schema as the form library wants it: `T or null` is an optional `T`, the variants of an enum have their names as titles,
 * and a list of the words of an enum is a set of boxes. It accepts the same values, but for null and for words that are listed twice.
 */
export function forForm(schema: Schema): Schema {
  return convert(schema, schema) as Schema;
}

function convert(schema: unknown, root: Schema): unknown {
  if (Array.isArray(schema)) return schema.map((part) => convert(part, root));
  if (!isObject(schema)) return schema;
  const converted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    // Values and not schemas.
    converted[key] = ['default', 'enum', 'const', 'examples', 'required'].includes(key) ? value : convert(value, root);
  }
  for (const choice of ['oneOf', 'anyOf'] as const) {
    const variants = converted[choice];
    if (!Array.isArray(variants)) continue;
    const real = variants.filter((variant) => !isNothing(variant));
    const isNullable = real.length < variants.length;
    const { [choice]: _, ...rest } = converted;
    if (isNullable && real.length === 1) return withoutNullDefault(optional(real[0], rest, root));
    converted[choice] = [...(isNullable ? [NOTHING] : []), ...real.map(named)];
  }
  if (converted.type === 'array' && isWords(resolved(converted.items, root))) converted.uniqueItems = true;
  return withoutNullDefault(converted);
}

const NOTHING = { title: 'nothing', type: 'null' };

/** `T or null`: a word or a number may be left empty, anything else is chosen first. */
function optional(schema: unknown, rest: Record<string, unknown>, root: Schema): Record<string, unknown> {
  const target = resolved(schema, root);
  if (!isObject(target) || !isObject(schema)) return { ...rest };
  const variants = target.oneOf ?? target.anyOf;
  if (Array.isArray(variants) && !isWords(target)) {
    return { ...rest, oneOf: [NOTHING, ...variants.filter((variant) => !isNothing(variant)).map((variant) => named(convert(variant, root)))] };
  }
  if (target.type === 'object' || target.type === 'array') return { ...rest, oneOf: [NOTHING, { title: 'a value', ...schema }] };
  return { ...schema, ...rest };
}

/** What a reference into the schema itself leads to. */
function resolved(schema: unknown, root: Schema): unknown {
  if (!isObject(schema) || typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema;
  return schema.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), root);
}

/**
 * A value with the lists, maps and objects that it has to have and that are empty: a form leaves out what nothing was added to.
 */
export function completed(schema: unknown, value: unknown): unknown {
  return isObject(schema) ? completedIn(schema, value, schema, 0) : value;
}

function completedIn(schema: unknown, value: unknown, root: Schema, depth: number): unknown {
  const target = resolved(schema, root);
  // A type may contain itself; a value that is deeper than this is written by hand.
  if (!isObject(target) || depth > 16) return value;
  const variants = target.oneOf ?? target.anyOf;
  if (Array.isArray(variants)) {
    const fitting = isObject(value) ? variants.filter((variant) => mayBe(resolved(variant, root), value)) : [];
    return fitting.length === 1 ? completedIn(fitting[0], value, root, depth + 1) : value;
  }
  if (target.type === 'array') {
    if (value === undefined) return [];
    return Array.isArray(value) ? value.map((item) => completedIn(target.items, item, root, depth + 1)) : value;
  }
  if (target.type !== 'object' || (value !== undefined && !isObject(value))) return value;
  const fields = isObject(target.properties) ? target.properties : {};
  const required: unknown[] = Array.isArray(target.required) ? target.required : [];
  const whole: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(fields)) {
    const given = whole[name];
    if (given === undefined && !required.includes(name)) continue;
    const completedField = completedIn(field, given, root, depth + 1);
    if (completedField !== undefined) whole[name] = completedField;
  }
  return whole;
}

/** Whether an object can be of this variant: each of its fields is one of those of the variant, and has the word that this wants. */
function mayBe(variant: unknown, value: Record<string, unknown>): boolean {
  if (!isObject(variant) || !isObject(variant.properties)) return false;
  const fields = variant.properties;
  return Object.entries(value).every(([name, field]) => {
    const wanted = fields[name];
    return name in fields && (!isObject(wanted) || wanted.const === undefined || wanted.const === field);
  });
}

/** Whether it is one of some words: an enum without data. */
function isWords(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (Array.isArray(schema.enum)) return true;
  return Array.isArray(schema.oneOf) && schema.oneOf.every((variant) => isObject(variant) && variant.const !== undefined);
}

function withoutNullDefault(schema: Record<string, unknown>): Record<string, unknown> {
  if (schema.default !== null) return schema;
  const { default: _, ...rest } = schema;
  return rest;
}

/** A variant of an enum with its name as title: the value, or the only field. */
function named(variant: unknown): unknown {
  if (!isObject(variant) || variant.title !== undefined) return variant;
  if (typeof variant.const === 'string') return { title: variant.const, ...variant };
  if (Array.isArray(variant.enum) && variant.enum.length === 1) {
    const { enum: [word], ...rest } = variant;
    return { title: String(word), const: word, default: word as unknown, ...rest };
  }
  const fields = isObject(variant.properties) ? Object.keys(variant.properties) : [];
  const tag = fields.map((field) => (variant.properties as Record<string, unknown>)[field]).find((field) => isObject(field) && typeof field.const === 'string');
  if (isObject(tag)) return { title: String(tag.const), ...variant };
  return fields.length === 1 ? { title: fields[0], ...variant } : variant;
}

/** `string`, `[Page]`, `"a" | "b"`, `integer or null`. */
export function typeName(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > 4) return 'any';
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').pop() ?? 'any';
  if (isObject(schema.items)) return `[${typeName(schema.items, depth + 1)}]`;
  if (Array.isArray(schema.enum)) return schema.enum.map((word) => toJson(word)).join(' | ');
  if (schema.const !== undefined) return toJson(schema.const) ?? 'any';
  const variants = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(variants)) return variants.map((variant) => typeName(variant, depth + 1)).join(' or ');
  if (schema.type === 'object' && isObject(schema.additionalProperties)) return `map of ${typeName(schema.additionalProperties, depth + 1)}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  return typeof schema.type === 'string' ? schema.type : 'any';
}

export interface FieldRow {
  name: string;
  required: boolean;
  type: string;
  text: string;
}

/** The fields of an object, the required ones first; null if it is no object. */
export function fieldsOf(schema: unknown): FieldRow[] | null {
  if (!isObject(schema) || !isObject(schema.properties)) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const defs = isObject(schema.$defs) ? schema.$defs : {};
  const rows = Object.entries(schema.properties).map(([name, field]): FieldRow => {
    const type = typeName(field);
    const definition = isObject(defs[type]) ? defs[type] : {};
    const words = Array.isArray(definition.enum) ? definition.enum.join(', ') : '';
    const text = isObject(field) && typeof field.description === 'string' ? field.description : words;
    return { name, required: required.includes(name), type, text };
  });
  return rows.sort((a, b) => Number(b.required) - Number(a.required));
}

export const titleOf = (schema: unknown): string => (isObject(schema) && typeof schema.title === 'string' ? schema.title : '');
export const descriptionOf = (schema: unknown): string => (isObject(schema) && typeof schema.description === 'string' ? schema.description : '');
