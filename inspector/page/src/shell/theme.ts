import { useEffect, useState } from 'react';

const KEY = 'graphweft-theme';
type Theme = 'light' | 'dark';

const preferred = (): Theme => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

function stored(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === 'light' || theme === 'dark' ? theme : null;
  } catch {
    return null;
  }
}

function store(theme: Theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
}

/** Follows the system until a theme is chosen. */
export function useTheme(): () => void {
  const [theme, setTheme] = useState<Theme>(() => stored() ?? preferred());
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => stored() ?? setTheme(preferred());
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, []);
  return () => {
    const next = theme === 'dark' ? 'light' : 'dark';
    store(next);
    setTheme(next);
  };
}
