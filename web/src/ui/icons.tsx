import type { ReactNode } from 'react';

/** Line icons on a 24-unit grid. */
const shapes = {
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5.5v13l11-6.5z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-6 7.5-6s6.5 2 7.5 6',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 19.5c.8-3.5 3.2-5.5 6.5-5.5s5.700 2 6.500 5.500M16 4.300a3.500 3.500 0 0 1 0 6.500M18.500 14.500c1.700.900 2.700 2.700 3 5',
  spark:
    'M12 3v4M12 17v4M3 12h4M17 12h4M5.600 5.600l2.800 2.800M15.600 15.600l2.800 2.800M18.400 5.600l-2.800 2.800M8.400 15.600l-2.800 2.800',
  warn: 'M12 4L2.500 20h19zM12 10v4.500M12 17.500v.01',
  ban: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM5.700 5.700l12.600 12.600',
  right: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  left: 'M15 6l-6 6 6 6',
  external: 'M14 5h5v5M19 5l-9 9M10 6H6a1 1 0 0 0-1 1v11a1 1 0 0 0 1 1h11a1 1 0 0 0 1-1v-4',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  search: 'M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20 20',
  filter: 'M4 5h16l-6.500 8v6l-3-1.500V13z',
  inbox: 'M4 13l2.500-8h11L20 13v6H4zM4 13h5l1 2.500h4l1-2.500h5',
  list: 'M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01',
  flow: 'M4 4h6v5H4zM14 15h6v5h-6zM7 9v4a4 4 0 0 0 4 4.500h3',
  chart: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
  wrench:
    'M14.500 6.500a4.500 4.500 0 0 1 5.800-1.300L17 8.500l1 1.500 1.800.700 1.200-2.700a4.500 4.500 0 0 1-6.200 5L8 20a2 2 0 0 1-3-3l7-6.500a4.500 4.500 0 0 1 2.500-4z',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15zM10 20.500h4',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M18.700 5.300l-1.400 1.400M6.700 17.300l-1.400 1.400',
  moon: 'M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z',
  dots: 'M5 12v.01M12 12v.01M19 12v.01',
  plus: 'M12 5v14M5 12h14',
  link: 'M10 14a4 4 0 0 0 6 .500l3-3a4 4 0 0 0-5.700-5.700L12 7M14 10a4 4 0 0 0-6-.500l-3 3a4 4 0 0 0 5.700 5.700L12 17',
  fork: 'M6 4v5a4 4 0 0 0 4 4h4a4 4 0 0 1 4 4v3M6 20v-7M15 17l3 3 3-3',
  retry: 'M4.500 12a7.500 7.500 0 1 1 2.200 5.300M4.500 19v-4.500H9',
  skip: 'M5 6l7 6-7 6zM13 6l6 6-6 6z',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5.500M12 7.500v.01',
  question: 'M9 9a3 3 0 1 1 4.500 2.600c-1 .600-1.500 1.200-1.500 2.400M12 17.500v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  recipe: 'M6 3h9l4 4v14H6zM15 3v4h4M9.500 12h6M9.500 16h4',
  keyboard: 'M3 6h18v12H3zM7 10v.01M11 10v.01M15 10v.01M8 14h8',
  dot: 'M12 14.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z',
  minus: 'M6 12h12',
  undo: 'M4 9h10a5.500 5.500 0 0 1 0 11H8M4 9l4-4M4 9l4 4',
  exit: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
} as const;
export type IconName = keyof typeof shapes;

/** Decoration: the word beside it, or the label of its button, says what it means. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      focusable="false"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={shapes[name]} />
    </svg>
  );
}
