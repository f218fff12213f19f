import { WORDS, type Look } from './look';
import { SIGNS, STATE_SHAPES } from './shapes';

export function Sign({ name }: { name: keyof typeof SIGNS }) {
  return (
    <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
      {SIGNS[name]}
    </svg>
  );
}

export function StateIcon({ look, word = false }: { look: Look; word?: boolean }) {
  return (
    <span className={`state s-${look}`}>
      <svg className="i" viewBox="0 0 16 16" aria-hidden={word ? undefined : true} role={word ? 'img' : undefined} aria-label={word ? WORDS[look] : undefined}>
        {STATE_SHAPES[look]}
      </svg>
    </span>
  );
}

export function Status({ look, pill = false }: { look: Look; pill?: boolean }) {
  return (
    <span className={`st s-${look}${pill ? ' pill' : ''}`}>
      <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
        {STATE_SHAPES[look]}
      </svg>
      {WORDS[look]}
    </span>
  );
}
