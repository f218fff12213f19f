import { useEffect, useState } from 'react';

interface Props {
  text: () => string | Promise<string>;
  children?: string;
}

export function CopyButton({ text, children = 'copy' }: Props) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), 1600);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await text());
      setState('copied');
    } catch {
      setState('failed');
    }
  };
  return (
    <button type="button" className="ghost" onClick={copy}>
      <span aria-live="polite">{state === 'copied' ? 'copied' : state === 'failed' ? 'not copied' : children}</span>
    </button>
  );
}
