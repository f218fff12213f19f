import { kindNameValues, stateNameValues } from '../api/schema.gen';

/** By number, the states of things in a view. */
export const STATES = stateNameValues;

/** By number, the kinds of things in a view. */
export const KINDS = kindNameValues;
