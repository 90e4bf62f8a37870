/** The engine's own sentences. What is not listed is shown in English. */
const sentences: Readonly<Record<string, string>> = {
  'the run has not begun': 'der Lauf hat noch nicht begonnen',
  'the run is going on': 'der Lauf ist im Gang',
  'the run is paused': 'der Lauf ist angehalten',
  'the run is being ended': 'der Lauf wird beendet',
  'what the run did is being undone': 'was der Lauf tat, wird rückgängig gemacht',
  'somebody has to settle what could not be undone': 'jemand muss klären, was sich nicht rückgängig machen liess',
  'the code no longer matches what the run has recorded': 'der Code passt nicht mehr zu dem, was der Lauf aufgezeichnet hat',
  'the run has completed': 'der Lauf ist abgeschlossen',
  'the run has failed': 'der Lauf ist fehlgeschlagen',
  'the run was cancelled': 'der Lauf wurde abgebrochen',
  'the run was rejected before its first step': 'der Lauf wurde vor dem ersten Schritt abgewiesen',
  'what the run did has been undone': 'was der Lauf tat, wurde rückgängig gemacht',
  'the run was rejected before its first step; fork it from the beginning':
    'der Lauf wurde vor dem ersten Schritt abgewiesen; verzweigen Sie ihn vom Anfang',
  'what the run did has been undone; fork it from the beginning':
    'was der Lauf tat, wurde rückgängig gemacht; verzweigen Sie ihn vom Anfang',
  'nothing begins until the run is resumed; timers keep their time':
    'nichts beginnt, bis der Lauf fortgesetzt wird; Zeitgeber behalten ihre Zeit',
  'the run goes on': 'der Lauf geht weiter',
  'the run ends now, with everything that it waits for and its child runs':
    'der Lauf endet jetzt, mit allem, worauf er wartet, und seinen Unterläufen',
  'what the run did is undone, the latest first': 'was der Lauf tat, wird rückgängig gemacht, das Jüngste zuerst',
  'the difference is accepted as it is': 'die Abweichung wird hingenommen, wie sie ist',
  'no difference was found': 'es wurde keine Abweichung gefunden',
  'choose the step': 'wählen Sie den Schritt',
  'choose a step of the workflow': 'wählen Sie einen Schritt des Ablaufs',
  'the outcome is looked up in the target system again': 'das Ergebnis wird nochmals im Zielsystem nachgeschlagen',
  'the run has completed; fork it to run steps again': 'der Lauf ist abgeschlossen; verzweigen Sie ihn, um Schritte zu wiederholen',
  'a new run goes on from the failed step; what came before it is kept':
    'ein neuer Lauf macht beim fehlgeschlagenen Schritt weiter; was davor war, bleibt',
  'this step did not fail; fork the run to repeat it': 'dieser Schritt schlug nicht fehl; verzweigen Sie den Lauf, um ihn zu wiederholen',
  'the step is attempted again; its effect may then happen a second time':
    'der Schritt wird nochmals versucht; seine Wirkung kann dann ein zweites Mal eintreten',
  'the next attempt is made now': 'der nächste Versuch geschieht jetzt',
  'the step is about to begin': 'der Schritt beginnt gleich',
  'the step is about to begin; pause the run first': 'der Schritt beginnt gleich; halten Sie den Lauf zuerst an',
  'an attempt is under way': 'ein Versuch ist im Gang',
  'the step has ended': 'der Schritt ist beendet',
  'the step has ended and does not change any more; fork the run to repeat it':
    'der Schritt ist beendet und ändert sich nicht mehr; verzweigen Sie den Lauf, um ihn zu wiederholen',
  'the step counts as done, with the output that you supply': 'der Schritt gilt als erledigt, mit der Ausgabe, die Sie angeben',
  'a decision is for those who were asked: reassign the request or extend its deadline':
    'entscheiden dürfen nur die Gefragten: Weisen Sie die Anfrage anders zu oder verlängern Sie die Frist',
  'skip the steps inside it instead': 'überspringen Sie stattdessen die Schritte darin',
  'the document decides: change it, or let its time run out': 'das Dokument entscheidet: Ändern Sie es, oder lassen Sie die Zeit ablaufen',
  'its result is there already': 'sein Ergebnis ist schon da',
  'the step does not wait': 'der Schritt wartet nicht',
  'the time counts as over': 'die Zeit gilt als abgelaufen',
  'the event that you supply counts as received': 'das Ereignis, das Sie angeben, gilt als eingetroffen',
  'open the child run, or skip this step with an output':
    'öffnen Sie den Unterlauf, oder überspringen Sie diesen Schritt mit einer Ausgabe',
  'retry the step instead': 'wiederholen Sie stattdessen den Schritt',
  'it waits for its own steps': 'er wartet auf seine eigenen Schritte',
  'the run has no deadline': 'der Lauf hat keine Frist',
  'the run gets more time': 'der Lauf erhält mehr Zeit',
  'those who are asked get more time': 'die Gefragten erhalten mehr Zeit',
  'the event may come later': 'das Ereignis darf später kommen',
  'you say what became of it, and the run goes on from there': 'Sie sagen, was daraus wurde, und der Lauf macht dort weiter',
  'its outcome is not in doubt': 'sein Ausgang steht fest',
  'a new run begins with the same input': 'ein neuer Lauf beginnt mit derselben Eingabe',
  'a new run goes on from this step; what came before it is kept': 'ein neuer Lauf macht bei diesem Schritt weiter; was davor war, bleibt',
  'it counts as approved': 'danach gilt es als zugestimmt',
  'it counts as rejected': 'danach gilt es als abgelehnt',
  'the step fails': 'danach schlägt der Schritt fehl',
  'it is passed on': 'danach wird es weitergegeben',
  'the step ends with the child run': 'der Schritt endet mit dem Unterlauf',
  'it asks again': 'dann fragt er nochmals',
  'without an answer by then the attempt counts as lost': 'ohne Antwort bis dahin gilt der Versuch als verloren',
  'the step goes on without the event, or fails, as its workflow says':
    'dann geht der Schritt ohne das Ereignis weiter oder schlägt fehl, wie der Ablauf es sagt',
};

/** Sentences that contain what the step waits for. */
const waits: Readonly<Record<string, string>> = {
  'waits for a time': 'wartet auf eine Zeit',
  'waits for its next attempt': 'wartet auf den nächsten Versuch',
  'waits for a free slot': 'wartet auf einen freien Platz',
  'waits for its own steps': 'wartet auf seine eigenen Schritte',
  'waits for a decision': 'wartet auf eine Entscheidung',
  'waits for an event': 'wartet auf ein Ereignis',
  'waits for its child run': 'wartet auf seinen Unterlauf',
  'watches a document': 'beobachtet ein Dokument',
  'has its result': 'hat sein Ergebnis',
  'does not wait': 'wartet nicht',
};

const endings: Readonly<Record<string, string>> = {
  'there is nothing to repeat': 'es gibt nichts zu wiederholen',
  'it has no deadline of its own': 'er hat keine eigene Frist',
};

export function sayInGerman(sentence: string): string {
  const known = sentences[sentence];
  if (known !== undefined) return known;
  const composed = /^the step (.*); (.*)$/.exec(sentence);
  const wait = waits[composed?.[1] ?? ''];
  const ending = endings[composed?.[2] ?? ''];
  return wait === undefined || ending === undefined ? sentence : `der Schritt ${wait}; ${ending}`;
}
