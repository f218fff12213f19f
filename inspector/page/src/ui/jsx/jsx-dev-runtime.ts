// The same for `npm run dev`.
import type { ElementType, Key, ReactElement } from 'react';
import { jsxDEV as element, type JSXSource } from 'react/jsx-dev-runtime';
import { withVisible } from './jsx-runtime';

export { Fragment, type JSX } from 'react/jsx-dev-runtime';

export const jsxDEV = (type: ElementType, props: unknown, key: Key | undefined, isStatic: boolean, source?: JSXSource, self?: unknown): ReactElement =>
  element(type, withVisible(type, props), key, isStatic, source, self);
