import { inject } from 'vitest';

process.env['FIRESTORE_EMULATOR_HOST'] = inject('firestoreHost');
process.env['KILN_EVENT_ROUTER'] = inject('eventRouterUrl');
process.env['GCLOUD_PROJECT'] = 'demo-kiln';
// Otherwise the Google libraries look for a metadata server first, which takes seconds where there is none.
process.env['METADATA_SERVER_DETECTION'] = 'none';
