/**
 * The stored shapes as this app reads them. The schemas are the engine's own; unknown top-level fields are passed over, so that a
 * page that was opened before a deployment goes on working after it.
 */
import type { z } from 'zod';
import { alertRecordSchema, type AlertRecord } from '@model/alert.ts';
import { approvalRecordSchema, decisionRecordSchema, verdictRecordSchema } from '@model/approval.ts';
import type { ApprovalRecord, DecisionRecord, VerdictRecord } from '@model/approval.ts';
import { effectRecordSchema, type EffectRecord } from '@model/effect.ts';
import { commandRecordSchema, type CommandRecord } from '@model/command.ts';
import { versionRecordSchema, workflowRecordSchema, type VersionRecord, type WorkflowRecord } from '@model/definition.ts';
import { historyEntrySchema, type HistoryEntry } from '@model/history.ts';
import { hookRecordSchema, type HookRecord } from '@model/hook.ts';
import { memberRecordSchema, type MemberRecord } from '@model/member.ts';
import { jobRecordSchema, retentionSchema, type JobRecord, type Retention } from '@model/job.ts';
import { accountLimitsSchema } from '@model/limit.ts';
import { mcpServerRecordSchema, type McpServerRecord } from '@model/mcp-server.ts';
import { rollupRecordSchema, type RollupRecord } from '@model/metrics.ts';
import { notificationRecordSchema, outboxRecordSchema, type NotificationRecord, type OutboxRecord } from '@model/outbox.ts';
import { correctionRecordSchema, recipeRecordSchema, recipeVersionRecordSchema } from '@model/recipe.ts';
import type { CorrectionRecord, RecipeRecord, RecipeVersionRecord } from '@model/recipe.ts';
import { scheduleRecordSchema, type ScheduleRecord } from '@model/schedule.ts';
import { exceptionRecordSchema, type ExceptionRecord } from '@model/reconciliation.ts';
import { runRecordSchema, type RunRecord } from '@model/run.ts';
import { stepRecordSchema, type StepRecord } from '@model/step.ts';

export const memberShape: z.ZodType<MemberRecord> = memberRecordSchema.strip();
export const approvalShape: z.ZodType<ApprovalRecord> = approvalRecordSchema.strip();
export const decisionShape: z.ZodType<DecisionRecord> = decisionRecordSchema.strip();
export const verdictShape: z.ZodType<VerdictRecord> = verdictRecordSchema.strip();
export const notificationShape: z.ZodType<NotificationRecord> = notificationRecordSchema.strip();
export const runShape: z.ZodType<RunRecord> = runRecordSchema.strip();
export const stepShape: z.ZodType<StepRecord> = stepRecordSchema.strip();
export const commandShape: z.ZodType<CommandRecord> = commandRecordSchema.strip();
export const historyShape: z.ZodType<HistoryEntry> = historyEntrySchema.strip();
export const workflowShape: z.ZodType<WorkflowRecord> = workflowRecordSchema.strip();
export const versionShape: z.ZodType<VersionRecord> = versionRecordSchema.strip();
export const rollupShape: z.ZodType<RollupRecord> = rollupRecordSchema.strip();
export const jobShape: z.ZodType<JobRecord> = jobRecordSchema;
export const scheduleShape: z.ZodType<ScheduleRecord> = scheduleRecordSchema.strip();
export const recipeShape: z.ZodType<RecipeRecord> = recipeRecordSchema.strip();
export const recipeVersionShape: z.ZodType<RecipeVersionRecord> = recipeVersionRecordSchema.strip();
export const alertShape: z.ZodType<AlertRecord> = alertRecordSchema.strip();
export const exceptionShape: z.ZodType<ExceptionRecord> = exceptionRecordSchema.strip();
export const outboxShape: z.ZodType<OutboxRecord> = outboxRecordSchema.strip();
export const hookShape: z.ZodType<HookRecord> = hookRecordSchema.strip();
export const effectShape: z.ZodType<EffectRecord> = effectRecordSchema.strip();
export const mcpServerShape: z.ZodType<McpServerRecord> = mcpServerRecordSchema.strip();
export const correctionShape: z.ZodType<CorrectionRecord> = correctionRecordSchema.strip();
export const retentionShape: z.ZodType<Retention> = retentionSchema.strip();
export const limitsShape: z.ZodType<z.infer<typeof accountLimitsSchema>> = accountLimitsSchema;
