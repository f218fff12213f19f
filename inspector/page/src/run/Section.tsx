import type { ReactNode } from 'react';
import { toJson } from '../api/json';
import { CopyButton } from '../ui/CopyButton';
import { Json } from '../ui/Json';

export function Section({ title, right, children }: { title: string; right?: ReactNode; children: ReactNode }) {
  return (
    <section className="sec">
      <h3>
        {title}
        {right !== undefined && <span className="r">{right}</span>}
      </h3>
      {children}
    </section>
  );
}

export function JsonSection({ title, value }: { title: string; value: unknown }) {
  return (
    <Section title={title} right={<CopyButton text={() => toJson(value, 2) ?? ''} />}>
      <Json value={value} />
    </Section>
  );
}

/** An error and what it is because of. */
export function ErrorChain({ chain }: { chain: readonly string[] }) {
  return (
    <div className="err">
      <div>{chain[0]}</div>
      {chain.slice(1).map((cause, at) => (
        <div className="by" key={at}>
          because {cause}
        </div>
      ))}
    </div>
  );
}
