import { collection, doc, getDoc, getDocs, limit, onSnapshot, orderBy, query, serverTimestamp, setDoc, where } from 'firebase/firestore';
import type { DocumentData } from 'firebase/firestore';
import type { Session } from './connect.ts';

/** The mark by which the reconciler finds a document whose trigger got lost. */
const UNATTENDED = '0|0000000000000';

/** Steps shown at once; a longer run is read in the web app. */
const STEPS_SHOWN = 300;

export async function listRuns(session: Session, account: string, count: number): Promise<DocumentData[]> {
  const found = await getDocs(query(collection(session.db, `accounts/${account}/runs`), orderBy('createdAt', 'desc'), limit(count)));
  return found.docs.map((one) => one.data());
}

export async function readRun(session: Session, account: string, runId: string): Promise<DocumentData | undefined> {
  return (await getDoc(doc(session.db, `accounts/${account}/runs/${runId}`))).data();
}

export async function readSteps(session: Session, account: string, runId: string): Promise<DocumentData[]> {
  const found = await getDocs(
    query(collection(session.db, `accounts/${account}/runs/${runId}/steps`), orderBy('createdAt'), limit(STEPS_SHOWN)),
  );
  return found.docs.map((one) => one.data());
}

/** Calls back for each change of the run and its steps; resolves with the run when it has ended. */
export function watchRun(
  session: Session,
  account: string,
  runId: string,
  on: { readonly run: (run: DocumentData) => void; readonly step: (step: DocumentData) => void },
): Promise<DocumentData> {
  const path = `accounts/${account}/runs/${runId}`;
  return new Promise((resolve, reject) => {
    const seen = new Map<string, string>();
    const stopSteps = onSnapshot(
      query(collection(session.db, `${path}/steps`), orderBy('createdAt'), limit(STEPS_SHOWN)),
      (snapshot) => {
        for (const change of snapshot.docChanges()) {
          const step = change.doc.data();
          const state = `${String(step['state'])}#${String(step['attempt'])}`;
          if (seen.get(change.doc.id) !== state) on.step(step);
          seen.set(change.doc.id, state);
        }
      },
      reject,
    );
    const stopRun = onSnapshot(
      doc(session.db, path),
      (snapshot) => {
        const run = snapshot.data();
        if (run === undefined) return;
        on.run(run);
        if (!['completed', 'failed', 'cancelled', 'rejected', 'compensated', 'needs_resolution'].includes(String(run['status']))) return;
        // The last step's own change may arrive after the run's.
        setTimeout(() => {
          stopSteps();
          stopRun();
          resolve(run);
        }, 300);
      },
      reject,
    );
  });
}

/** The first open approval of a run; waits for one. */
export function openApproval(session: Session, account: string, runId: string): Promise<DocumentData> {
  const open = query(
    collection(session.db, `accounts/${account}/approvals`),
    where('runId', '==', runId),
    where('status', '==', 'pending'),
    orderBy('requestedAt'),
    limit(1),
  );
  return new Promise((resolve, reject) => {
    const stop = onSnapshot(
      open,
      (snapshot) => {
        const found = snapshot.docs[0]?.data();
        if (found === undefined) return;
        stop();
        resolve(found);
      },
      reject,
    );
  });
}

/** Writes the person's decision, bound to what was shown, and waits for what the engine says of it. */
export async function decide(
  session: Session,
  account: string,
  approval: DocumentData,
  outcome: string,
  comment?: string,
): Promise<{ accepted: boolean; reason: string }> {
  const approvalId = String(approval['approvalId']);
  const base = `accounts/${account}/approvals/${approvalId}`;
  await setDoc(doc(session.db, `${base}/decisions/${session.uid}`), {
    v: 1,
    accountId: account,
    approvalId,
    by: session.uid,
    outcome,
    digest: String(approval['digest']),
    at: serverTimestamp(),
    due: UNATTENDED,
    ...(comment === undefined ? {} : { comment }),
  });
  return new Promise((resolve, reject) => {
    const stop = onSnapshot(
      doc(session.db, `${base}/verdicts/${session.uid}`),
      (snapshot) => {
        const verdict = snapshot.data();
        if (verdict === undefined) return;
        stop();
        resolve({ accepted: verdict['accepted'] === true, reason: String(verdict['reason'] ?? '') });
      },
      reject,
    );
  });
}

export async function command(
  session: Session,
  account: string,
  runId: string,
  kind: string,
  reason: string,
  stepKey?: string,
): Promise<string> {
  const reference = doc(collection(session.db, `accounts/${account}/runs/${runId}/commands`));
  await setDoc(reference, {
    v: 1,
    accountId: account,
    runId,
    kind,
    by: session.uid,
    reason,
    at: serverTimestamp(),
    status: 'pending',
    due: UNATTENDED,
    ...(stepKey === undefined ? {} : { stepKey }),
  });
  return new Promise((resolve, reject) => {
    const stop = onSnapshot(
      reference,
      (snapshot) => {
        const data = snapshot.data();
        if (data === undefined || data['status'] === 'pending') return;
        stop();
        resolve(`${String(data['status'])}: ${String(data['result'] ?? '')}`);
      },
      reject,
    );
  });
}
