import { inject } from 'vitest';

process.env['FIRESTORE_EMULATOR_HOST'] = inject('firestoreHost');
process.env['GCLOUD_PROJECT'] = 'demo-kiln';
