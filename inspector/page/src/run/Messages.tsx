import type { NodeValues } from '../api/types';
import { duration } from '../ui/duration';
import { Json } from '../ui/Json';
import { Section } from './Section';

export function Messages({ messages, begin }: { messages: readonly { seq: number; time: number; text: string }[]; begin: number }) {
  if (!messages.length) return null;
  return (
    <Section title="Messages">
      <ul className="msgs">
        {messages.map(({ seq, time, text }) => (
          <li key={seq}>
            <span className="tm">+{duration(time - begin)}</span>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Notes({ notes, begin }: { notes: NonNullable<NodeValues['notes']>; begin: number }) {
  if (!notes.length) return null;
  return (
    <Section title="Notes">
      <ul className="msgs">
        {notes.map(({ seq, time, name, payload }) => (
          <li key={seq}>
            <span className="tm">+{duration(time - begin)}</span>
            <div>
              {name}
              {payload !== null && <Json value={payload} />}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
