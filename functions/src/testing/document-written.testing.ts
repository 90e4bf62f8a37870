/** The builder of the copy of firebase-functions that the deployed functions load: two copies in one process do not get along. */
export { onDocumentWritten } from 'firebase-functions/v2/firestore';
