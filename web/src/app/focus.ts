import { useEffect } from 'react';

/** Focus goes to the top of a new page, so that keys and a screen reader start there. */
export function useFocusOnArrival(key: string): void {
  useEffect(() => {
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [key]);
}
