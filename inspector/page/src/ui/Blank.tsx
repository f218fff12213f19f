import type { ReactNode } from 'react';
import { StateIcon } from './Icon';
import type { Look } from './look';

interface Props {
  look: Look;
  title: string;
  /** Whether it is all of the page. */
  isPage?: boolean;
  children?: ReactNode;
  actions?: ReactNode;
}

/** A page or pane without content: empty, or not to be read. */
export function Blank({ look, title, isPage = false, children, actions }: Props) {
  return (
    <div className="blank" role={look === 'failed' ? 'alert' : undefined}>
      <StateIcon look={look} />
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}
