import { describe, expect, it } from 'vitest';
import api from '../../openapi.json';
import { parseJson, parseResponse, parseTyped, toJson, USER_FIELDS, withNumbers } from '../src/api/json';
import { exactValueOf } from '../src/forms/exactValue';
import validator from '../src/forms/validator';
import { fractionOf } from '../src/graph/progress';

const LARGE = '{"a":9007199254740993,"b":[18446744073709551615,-9007199254740993],"c":{"d":"9007199254740993"}}';

describe('JSON', () => {
  it('is written with the integers that it was read with', () => {
    expect(toJson(parseJson(LARGE))).toBe(LARGE);
    expect(toJson(parseTyped(LARGE))).toBe(LARGE);
    expect(toJson(parseJson('9007199254740993'))).toBe('9007199254740993');
    expect(toJson(parseJson('[\n  -18446744073709551615\n]'))).toBe('[-18446744073709551615]');
  });

  it('has a bigint only for an integer that is not safe', () => {
    const numbers = '[0,-1,42,0.12345678901234567,1e300,1234567890.1234567,9007199254740991,-9007199254740991,9007199254740992]';
    expect(parseJson(numbers)).toEqual([...(JSON.parse(numbers) as number[]).slice(0, -1), 9007199254740992n]);
    expect(parseJson('{"time":1700000000000,"hash":"1234567890123456789"}')).toEqual({ time: 1700000000000, hash: '1234567890123456789' });
  });

  it('is read as the browser does where no integer is large', () => {
    const text = '{"a":9007199254740993,"__proto__":{"b":1},"c":"\\u00e4\\n","a":[true,null,{}]}';
    expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    expect(() => parseJson('[9007199254740993')).toThrow(SyntaxError);
  });

  it('has the numbers of a person as they were typed', () => {
    expect(toJson(parseTyped(' [1.0, 1e3, -0, 0.10, 123456789012345678901234567890, 1e400] '))).toBe('[1.0,1e3,-0,0.10,123456789012345678901234567890,1e400]');
    expect(withNumbers(parseTyped('{"a":[1.0,9007199254740993,"x",null,true]}'))).toEqual({ a: [1, 9007199254740993n, 'x', null, true] });
    expect(() => parseTyped('{"cents": ')).toThrow(SyntaxError);
  });

  it('is written over several lines like that of the browser', () => {
    const value = { a: [1, { b: undefined, c: 'x' }], d: [], e: {} };
    expect(toJson(value, 2)).toBe(JSON.stringify(value, null, 2));
    expect(toJson(undefined)).toBeUndefined();
  });
});

describe('a response', () => {
  it('has plain numbers but for the values of the user', () => {
    const text = '{"until":18446744073709551615,"payload":{"until":18446744073709551615},"input":{"value":[9007199254740993]}}';
    expect(parseResponse(text)).toEqual({ until: 18446744073709552000, payload: { until: 18446744073709551615n }, input: { value: [9007199254740993n] } });
  });

  it('has values of the user in the fields that may be anything', () => {
    expect([...anything(api.components.schemas)].sort()).toEqual([...USER_FIELDS].sort());
  });
});

/** The names of the fields whose schema says nothing, or that are lists or maps of such. */
function anything(schema: unknown, found = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return found;
  const { properties } = schema as { properties?: Record<string, { items?: object; additionalProperties?: object }> };
  for (const [name, field] of Object.entries(properties ?? {})) {
    if ([field, field.items, field.additionalProperties].some(isAnything)) found.add(name);
  }
  for (const part of Object.values(schema)) anything(part, found);
  return found;
}

const isAnything = (schema: object | undefined) => schema !== undefined && Object.keys(schema).every((key) => key === 'description');

describe('a number that is typed into a form', () => {
  it('is exact if it is large', () => {
    expect(exactValueOf('9007199254740993', 'integer')).toBe(9007199254740993n);
    expect(exactValueOf('-9007199254740993', ['integer', 'null'])).toBe(-9007199254740993n);
    expect(exactValueOf('18446744073709551615', 'number')).toBe(18446744073709551615n);
  });

  it('stays text if it is large and written in another way', () => {
    expect(['9007199254740993.0', '9.007199254740993e15', '1e400'].map((text) => exactValueOf(text, 'integer'))).toEqual(['9007199254740993.0', '9.007199254740993e15', '1e400']);
    expect(exactValueOf('1e400', 'number')).toBe('1e400');
  });

  it('is left to the form library else', () => {
    expect(['', '-', 'x', '7', '1.50', '9007199254740991', '1e3'].map((text) => exactValueOf(text, 'integer'))).toEqual(Array(7).fill(undefined));
    expect(['1e30', '0.1'].map((text) => exactValueOf(text, 'number'))).toEqual([undefined, undefined]);
  });

  it('tells which variant a value has', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 0, maximum: 18446744073709551615n } } } as never;
    expect(validator.isValid(schema, { n: 9007199254740993n }, {} as never)).toBe(true);
    expect(validator.isValid(schema, { n: -9007199254740993n }, {} as never)).toBe(false);
  });
});

describe('progress', () => {
  it('is a fraction also of a large total', () => {
    expect(fractionOf({ done: 4611686018427387904n, total: 18446744073709551616n })).toBe(0.25);
  });
});
