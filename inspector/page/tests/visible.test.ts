import { describe, expect, it } from 'vitest';
import { visible } from '../src/ui/visible';

describe('texts', () => {
  it('show what would hide or turn others', () => {
    expect(visible('bidi \u202egnp.exe')).toBe('bidi ⟨U+202E⟩gnp.exe');
    expect(visible('a\u200bb\u2066c\u2069\u0007\ufeff')).toBe('a⟨U+200B⟩b⟨U+2066⟩c⟨U+2069⟩⟨U+0007⟩⟨U+FEFF⟩');
    expect(visible('a\u200db')).toBe('a⟨U+200D⟩b');
    expect(visible('\u{e0041}')).toBe('⟨U+E0041⟩');
  });

  it('are what they were if nothing is hidden in them', () => {
    for (const text of ['', 'brief-1', 'two\n\tlines\r\n', 'שלום', 'ä 漢字', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', 'می\u200cخواهم']) {
      expect(visible(text)).toBe(text);
    }
  });
});
