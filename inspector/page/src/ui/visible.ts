/**
 * Characters that change how the text around them is shown, or show nothing: controls, marks of direction, zero-width ones. Those of the
 * command line are in `cli/src/safe.rs`, and a test there compares them.
 */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
/** What joins pictures to one, and letters of scripts that need it, is a part of them. */
const JOINED = /[\p{Extended_Pictographic}\ufe0f\p{Emoji_Modifier}\p{M}\p{Script=Arabic}]$/u;

/** A text with its hidden characters by their numbers: `a\u202eb` as `a⟨U+202E⟩b`, so that no id or text looks like another one. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char, at: number) => {
    if ((char === '\u200c' || char === '\u200d') && JOINED.test(text.slice(Math.max(0, at - 2), at))) return char;
    return char === '\r' && text[at + 1] === '\n' ? char : `⟨U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
