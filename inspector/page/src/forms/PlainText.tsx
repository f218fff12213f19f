import type { ReactNode } from 'react';

/** In place of a Markdown renderer: what users write is shown as text. */
export function Markdown({ children }: { children?: ReactNode }) {
  return <>{children}</>;
}
