// The copy of zod that the functions use; the root has another one, whose types do not mix with it.
export { z } from 'zod';
