// The elements of the page, each text in which is made visible: here, so that no place can be forgotten.
import type { ElementType, Key, ReactElement } from 'react';
import { jsx as element, jsxs as elements } from 'react/jsx-runtime';
import { visible } from '../visible';

export { Fragment, type JSX } from 'react/jsx-runtime';

const shown = (child: unknown): unknown => (typeof child === 'string' ? visible(child) : Array.isArray(child) ? child.map(shown) : child);

/** Not the properties of components, which may send them. */
export function withVisible(type: ElementType, props: unknown): unknown {
  if (typeof type !== 'string' && typeof type !== 'symbol') return props;
  const { children, title, 'aria-label': label, 'aria-valuetext': value, ...rest } = props as Record<string, unknown>;
  return {
    ...rest,
    ...(children === undefined ? {} : { children: shown(children) }),
    ...(title === undefined ? {} : { title: shown(title) }),
    ...(label === undefined ? {} : { 'aria-label': shown(label) }),
    ...(value === undefined ? {} : { 'aria-valuetext': shown(value) }),
  };
}

export const jsx = (type: ElementType, props: unknown, key?: Key): ReactElement => element(type, withVisible(type, props), key);
export const jsxs = (type: ElementType, props: unknown, key?: Key): ReactElement => elements(type, withVisible(type, props), key);
