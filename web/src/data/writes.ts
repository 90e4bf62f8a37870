/** The few documents that a client creates. Rules check each field; the engine answers with documents of its own. */
import { doc, serverTimestamp, setDoc, updateDoc } from 'firebase/firestore';
import { commandDocument, decisionDocument, requestDocument } from '@model/client-documents.ts';
import type { CommandInput, DecisionInput } from '@model/client-documents.ts';
import { paths } from '@model/paths.ts';
import { services } from './firebase.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 20 characters, as Firestore makes them. */
function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/** Resolves when the server took it; while offline it stays pending and goes out later, even after a reload. */
export function writeDecision(decision: Omit<DecisionInput, 'at'>): Promise<void> {
  const { accountId, approvalId, by } = decision;
  return setDoc(doc(services().db, paths.decision(accountId, approvalId, by)), decisionDocument({ ...decision, at: serverTimestamp() }));
}

/** Returns the id under which the engine's answer will appear. */
export async function writeCommand(command: Omit<CommandInput, 'at'>): Promise<string> {
  const id = freshId();
  const path = paths.command(command.accountId, command.runId, id);
  await setDoc(doc(services().db, path), commandDocument({ ...command, at: serverTimestamp() }));
  return id;
}

/** Asks for a run. The engine answers on the same document, whose id is returned. */
export async function writeRequest(accountId: string, workflowId: string, input: string, by: string): Promise<string> {
  const id = freshId();
  await setDoc(
    doc(services().db, paths.request(accountId, id)),
    requestDocument({ accountId, id, workflowId, input, by, at: serverTimestamp() }),
  );
  return id;
}

export async function markRead(accountId: string, notificationId: string): Promise<void> {
  await updateDoc(doc(services().db, paths.notification(accountId, notificationId)), { readAt: Date.now() });
}
