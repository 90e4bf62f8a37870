const TRIES = 5;

/** Asks an emulator for something that may be asked twice. On a busy machine it closes connections that are about to be used again. */
export async function ask(url: string, request: RequestInit): Promise<Response> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await fetch(url, request);
    } catch (error) {
      if (tried === TRIES) throw error;
    }
  }
}
