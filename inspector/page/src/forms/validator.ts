import { Validator, type Schema as CheckedSchema } from '@cfworker/json-schema';
import type { ValidatorType } from '@rjsf/utils';
import { rounded } from '../api/json';

/**
 * Tells the form which variant a value has. What is sent is checked by the server, which alone knows the types. The usual
 * validator compiles schemas to code, which the page's content security policy forbids; this one interprets them.
 */
const validator: ValidatorType = {
  isValid(schema, data, root) {
    try {
      // It knows numbers only.
      const whole = rounded({ ...(root as object), ...(schema as object) }) as CheckedSchema;
      return new Validator(withLocalIds(whole), '2020-12', true).validate(rounded(data)).valid;
    } catch {
      return false;
    }
  },
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  rawValidation: () => ({ errors: [] }),
};

/** The form library names the root by `$id`, which would move the base of `#/$defs/..`. */
function withLocalIds(schema: CheckedSchema): CheckedSchema {
  const { $id: _, ...rest } = schema;
  return rest;
}

export default validator;
