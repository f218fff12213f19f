import { describe, expect, it } from 'vitest';
import { errorAt, fieldOf, partsOf } from '../src/forms/fieldPath';
import { completed, fieldsOf, forForm, hasForm, typeName } from '../src/forms/schema';
import validator from '../src/forms/validator';
import { firstValue } from '../src/forms/value';
import { parseTags } from '../src/workflows/tags';

describe('fields of problems', () => {
  it('lead to an entry of a list', () => {
    expect(partsOf('lines[2].price')).toEqual(['lines', '2', 'price']);
    expect(errorAt('lines[2].price', 'too much')).toEqual({ lines: { 2: { price: { __errors: ['too much'] } } } });
  });

  it('may be the whole value', () => {
    expect(errorAt('.', 'is missing')).toEqual({ __errors: ['is missing'] });
  });
});

describe('a field that is missing', () => {
  it('is where the error is shown', () => {
    expect(fieldOf('.', 'invalid input of `w`: missing field `question`')).toBe('question');
    expect(fieldOf('lines[2]', 'missing field `price`')).toBe('lines[2].price');
    expect(fieldOf('lines[2]', 'too long')).toBe('lines[2]');
  });
});

describe('schemas for forms', () => {
  it('ask for a word or null as for a word that may be left out', () => {
    const root = { $defs: { A: { type: 'string' } }, anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }], default: null };
    expect(forForm(root as never)).toEqual({ $defs: root.$defs, $ref: '#/$defs/A' });
  });

  it('ask first whether there is an object', () => {
    const root = { $defs: { A: { type: 'object' } }, anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] };
    expect((forForm(root as never).oneOf as { title: string }[]).map((variant) => variant.title)).toEqual(['nothing', 'a value']);
  });

  it('put nothing beside the variants of an optional enum', () => {
    const root = { $defs: { A: { oneOf: [{ enum: ['Nowhere'] }, { properties: { Post: {} } }] } }, anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] };
    expect((forForm(root as never).oneOf as { title: string }[]).map((variant) => variant.title)).toEqual(['nothing', 'Nowhere', 'Post']);
  });

  it('name the variants of an enum', () => {
    const schema = { oneOf: [{ const: 'Nowhere' }, { type: 'object', properties: { Mail: { type: 'object' } }, required: ['Mail'] }] };
    expect((forForm(schema as never).oneOf as { title: string }[]).map((variant) => variant.title)).toEqual(['Nowhere', 'Mail']);
  });

  it('ask for a list of words by boxes, also if the words are named elsewhere', () => {
    const schema = { $defs: { C: { enum: ['Web', 'Mail'], type: 'string' } }, type: 'array', items: { $ref: '#/$defs/C' } };
    expect(forForm(schema as never).uniqueItems).toBe(true);
  });

  it('leave default values as they are', () => {
    const schema = { type: 'object', properties: { a: { default: { anyOf: [{ type: 'null' }] } } } };
    expect(forForm(schema as never)).toEqual(schema);
  });

  it('are missing for what may be anything', () => {
    expect([true, {}, { type: 'string' }].map(hasForm)).toEqual([false, false, true]);
  });

  it('tell which variant a value has, with references into the whole schema', () => {
    const root = { $defs: { N: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } } as never;
    expect(validator.isValid({ $ref: '#/$defs/N' }, { n: 1 }, root)).toBe(true);
    expect(validator.isValid({ $ref: '#/$defs/N' }, { n: 'x' }, root)).toBe(false);
    expect(validator.isValid({ $ref: '#/$defs/Gone' }, {}, root)).toBe(false);
  });
});

describe('a form that is sent', () => {
  const root = {
    $defs: {
      Line: { type: 'object', properties: { codes: { type: 'array' }, note: { type: 'array' } }, required: ['codes'] },
      Way: {
        oneOf: [
          { const: 'Nowhere' },
          { type: 'object', properties: { Post: { $ref: '#/$defs/Line' } }, required: ['Post'] },
          { type: 'object', properties: { kind: { const: 'mail' }, to: { type: 'array' } }, required: ['kind', 'to'] },
          { type: 'object', properties: { kind: { const: 'fax' }, to: { type: 'string' } }, required: ['kind', 'to'] },
        ],
      },
    },
    type: 'object',
    properties: {
      names: { type: 'array' },
      line: { $ref: '#/$defs/Line' },
      limits: { type: 'object', additionalProperties: { type: 'integer' } },
      lines: { type: 'array', items: { $ref: '#/$defs/Line' } },
      way: { $ref: '#/$defs/Way' },
      question: { type: 'string' },
      perhaps: { anyOf: [{ type: 'array' }, { type: 'null' }] },
      notes: { type: 'array' },
    },
    required: ['names', 'line', 'limits', 'lines', 'way', 'question', 'perhaps'],
  };

  it('has the lists and maps that it must have, and nothing else that was left out', () => {
    const empty = { names: [], line: { codes: [] }, limits: {}, lines: [] };
    expect(completed(root, {})).toEqual(empty);
    expect(completed(root, { lines: [{}], way: 'Nowhere' })).toEqual({ ...empty, lines: [{ codes: [] }], way: 'Nowhere' });
    expect(completed(root, { way: { Post: {} } })).toEqual({ ...empty, way: { Post: { codes: [] } } });
    expect(completed(root, { way: { kind: 'mail' } })).toEqual({ ...empty, way: { kind: 'mail', to: [] } });
    expect(completed(root, { way: { kind: 'fax' } })).toEqual({ ...empty, way: { kind: 'fax' } });
  });

  it('leaves what is there as it is', () => {
    const value = { names: ['a'], line: { codes: [1n], note: [] }, limits: { a: 1 }, lines: [], way: { Post: { codes: [] } }, question: '', perhaps: null, notes: [] };
    expect(completed(root, value)).toEqual(value);
    expect([completed(true, undefined), completed({ type: 'string' }, undefined), completed(root, 'text')]).toEqual([undefined, undefined, 'text']);
  });

  it('may be an empty list', () => {
    expect(firstValue({ type: 'array', items: { type: 'string' } }).value).toEqual([]);
    expect(firstValue({ type: 'string' }).value).toBeUndefined();
  });

  it('ends where a type contains itself', () => {
    const tree: Record<string, unknown> = { type: 'object', required: ['left'] };
    tree.properties = { left: tree };
    expect(completed(tree, {})).toHaveProperty('left.left');
  });
});

describe('types in words', () => {
  it('are short', () => {
    const names = [{ type: ['string', 'null'] }, { items: { type: 'string' } }, { $ref: '#/$defs/Page' }, { enum: ['a', 'b'] }, true].map((schema) => typeName(schema));
    expect(names).toEqual(['string or null', '[string]', 'Page', '"a" | "b"', 'any']);
  });

  it('stop at a schema that contains itself', () => {
    const schema: Record<string, unknown> = { type: 'array' };
    schema.items = schema;
    expect(typeName(schema)).toBe('[[[[[any]]]]]');
  });

  it('list required fields first', () => {
    expect(fieldsOf({ properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['b'] })?.map((field) => field.name)).toEqual(['b', 'a']);
  });
});

describe('tags', () => {
  it('are pairs', () => {
    expect(parseTags(' env:prod team=press ')).toEqual({ env: 'prod', team: 'press' });
    expect(() => parseTags('prod')).toThrow('`prod` is not a tag');
  });
});
