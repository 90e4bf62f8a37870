import { createContext, use, useEffect, useMemo, useState, type ReactNode } from 'react';
import { en, type Catalogue } from './en/index.ts';
import { createFormat, type Format } from './format.ts';

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

interface Text {
  readonly t: Catalogue;
  readonly format: Format;
  readonly language: Language;
  readonly setLanguage: (language: Language) => void;
}

const STORAGE_KEY = 'kiln.language';
const TextContext = createContext<Text | undefined>(undefined);

function isLanguage(value: string | null | undefined): value is Language {
  return value !== null && value !== undefined && Object.hasOwn(languages, value);
}

function preferredLanguage(): Language {
  const stored = localStorage.getItem(STORAGE_KEY);
  if (isLanguage(stored)) return stored;
  const wanted = navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage);
  return wanted ?? 'en';
}

/** The locale for dates and numbers: the browser's own variant of the chosen language, such as de-CH. */
function localeOf(language: Language): string {
  return navigator.languages.find((tag) => tag.startsWith(language)) ?? (language === 'en' ? 'en-GB' : language);
}

/** English is in the first load; another language is fetched when it is wanted. */
async function catalogueOf(language: Language): Promise<Catalogue> {
  switch (language) {
    case 'en':
      return en;
    case 'de':
      return (await import('./de/index.ts')).de;
  }
}

export function TextProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [language, setLanguage] = useState<Language>(preferredLanguage);
  const [loaded, setLoaded] = useState<{ language: Language; t: Catalogue }>();

  useEffect(() => {
    let current = true;
    void catalogueOf(language).then((t) => {
      if (!current) return;
      document.documentElement.lang = language;
      setLoaded({ language, t });
    });
    return () => {
      current = false;
    };
  }, [language]);

  const text = useMemo<Text | undefined>(() => {
    if (loaded === undefined) return undefined;
    return {
      t: loaded.t,
      language: loaded.language,
      format: createFormat(localeOf(loaded.language), Intl.DateTimeFormat().resolvedOptions().timeZone),
      setLanguage: (next) => {
        localStorage.setItem(STORAGE_KEY, next);
        setLanguage(next);
      },
    };
  }, [loaded]);

  return text === undefined ? null : <TextContext value={text}>{children}</TextContext>;
}

export function useText(): Text {
  const text = use(TextContext);
  if (text === undefined) throw new Error('useText outside of TextProvider');
  return text;
}
