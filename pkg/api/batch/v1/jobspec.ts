import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"

/** Source: k8s.io/api batch/v1/types.go. */

export const PodFailurePolicyOnExitCodesRequirement = message(
  "batch.v1.PodFailurePolicyOnExitCodesRequirement",
  "Which exit codes a failure rule is about.",
  {
    containerName: f.string(1, "Container that is meant; any unless given.").pointer(),
    operator: f.string(2, "How the exit code relates to the values.").required().enum("In", "NotIn"),
    values: f.list(3, e.int32, "The exit codes.").required().listSet(),
  },
)
export interface PodFailurePolicyOnExitCodesRequirement extends ObjectOf<
  typeof PodFailurePolicyOnExitCodesRequirement
> {}

export const PodFailurePolicyOnPodConditionsPattern = message(
  "batch.v1.PodFailurePolicyOnPodConditionsPattern",
  "A pod condition that a failure rule is about.",
  {
    type: f.string(1, "Type of the condition.").required(),
    status: f.string(2, "Status of the condition; True unless given.").default("True"),
  },
)
export interface PodFailurePolicyOnPodConditionsPattern extends ObjectOf<
  typeof PodFailurePolicyOnPodConditionsPattern
> {}

export const PodFailurePolicyRule = message(
  "batch.v1.PodFailurePolicyRule",
  "The action when a pod fails in a certain way.",
  {
    action: f.string(1, "What to do.").required().enum("FailJob", "FailIndex", "Ignore", "Count"),
    onExitCodes: f.message(2, PodFailurePolicyOnExitCodesRequirement, "Exit codes that are meant."),
    onPodConditions: f.list(3, PodFailurePolicyOnPodConditionsPattern, "Conditions of which one must hold.").atomic(),
  },
)
export interface PodFailurePolicyRule extends ObjectOf<typeof PodFailurePolicyRule> {}

export const PodFailurePolicy = message("batch.v1.PodFailurePolicy", "How failed pods count for the job.", {
  rules: f
    .list(1, PodFailurePolicyRule, "The rules; the first that matches counts.")
    .required()
    .ownRule()
    .atomic()
    .orNull(),
})
export interface PodFailurePolicy extends ObjectOf<typeof PodFailurePolicy> {}

export const SuccessPolicyRule = message(
  "batch.v1.SuccessPolicyRule",
  "When a job counts as done before all its indexes are.",
  {
    succeededIndexes: f.string(1, "Indexes that must have succeeded, such as `1,3-5`.").pointer(),
    succeededCount: f.int32(2, "How many of them, or of all indexes, must have succeeded.").min(0).pointer(),
  },
)
export interface SuccessPolicyRule extends ObjectOf<typeof SuccessPolicyRule> {}

export const SuccessPolicy = message("batch.v1.SuccessPolicy", "When an indexed job counts as done.", {
  rules: f.list(1, SuccessPolicyRule, "The rules, of which one must hold.").required().ownRule().atomic(),
})
export interface SuccessPolicy extends ObjectOf<typeof SuccessPolicy> {}

export const JobSpec = message("batch.v1.JobSpec", "Pods to run to their end.", {
  parallelism: f.int32(1, "How many pods run at once at most.").min(0).pointer(),
  completions: f.int32(2, "How many pods must succeed.").min(0).pointer(),
  activeDeadlineSeconds: f.int64(3, "Seconds after which the job fails.").min(0).pointer(),
  podFailurePolicy: f.message(11, PodFailurePolicy, "How failed pods count for the job."),
  successPolicy: f.message(16, SuccessPolicy, "When an indexed job counts as done."),
  backoffLimit: f.int32(7, "How many failures the job survives.").min(0).pointer(),
  backoffLimitPerIndex: f.int32(12, "How many failures each index survives.").min(0).pointer(),
  maxFailedIndexes: f.int32(13, "How many indexes may fail.").min(0).pointer(),
  selector: f.message(4, LabelSelector, "Which pods belong to it; made by the server unless manualSelector is set."),
  manualSelector: f.bool(5, "Whether the selector is the user's own.").pointer(),
  template: f
    .message(6, PodTemplateSpec, "What the pods look like; restartPolicy must be Never or OnFailure.")
    .required()
    .ownRule(),
  ttlSecondsAfterFinished: f.int32(8, "Seconds after its end until the job is deleted.").min(0).pointer(),
  completionMode: f
    .string(9, "Whether pods are alike or each has an index.")
    .enum("NonIndexed", "Indexed")
    .inOrder()
    .pointer(),
  suspend: f.bool(10, "Whether no pods are to run for now.").pointer(),
  podReplacementPolicy: f
    .string(14, "Whether a pod is replaced when it begins to end or when it has failed.")
    .enum("TerminatingOrFailed", "Failed")
    .ownRule()
    .pointer(),
  managedBy: f.string(15, "Who runs the job; the built-in controller unless given.").pointer(),
})
export interface JobSpec extends ObjectOf<typeof JobSpec> {}

export const JobCondition = message("batch.v1.JobCondition", "One aspect of a job's present state.", {
  type: f.string(1, "Name of the aspect.").printZero(),
  status: f.string(2, "True, False or Unknown.").printZero(),
  lastProbeTime: f.time(3, "When the condition was last checked.").orNull(),
  lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
  reason: f.string(5, "Reason of the last change, one word in CamelCase."),
  message: f.string(6, "The reason in words."),
})
export interface JobCondition extends ObjectOf<typeof JobCondition> {}

export const UncountedTerminatedPods = message(
  "batch.v1.UncountedTerminatedPods",
  "Pods that have ended and are not yet in the counters.",
  {
    succeeded: f.list(1, e.string, "UIDs of pods that succeeded.").listSet(),
    failed: f.list(2, e.string, "UIDs of pods that failed.").listSet(),
  },
)
export interface UncountedTerminatedPods extends ObjectOf<typeof UncountedTerminatedPods> {}

export const JobStatus = message("batch.v1.JobStatus", "The state that the controller has observed.", {
  conditions: f.list(1, JobCondition, "Present state, aspect by aspect.").atomic().merge("type"),
  startTime: f.time(2, "When the controller saw the job first, or when it was resumed."),
  completionTime: f.time(3, "When the job succeeded."),
  active: f.int32(4, "Number of pods that are neither ended nor ending."),
  succeeded: f.int32(5, "Number of pods that succeeded."),
  failed: f.int32(6, "Number of pods that failed."),
  terminating: f.int32(11, "Number of pods that are ending.").pointer(),
  completedIndexes: f.string(7, "Indexes that succeeded, such as `1,3-5`."),
  failedIndexes: f.string(10, "Indexes that failed, such as `1,3-5`.").pointer(),
  uncountedTerminatedPods: f.message(8, UncountedTerminatedPods, "Ended pods that are not yet in the counters."),
  ready: f.int32(9, "Number of ready pods.").pointer(),
})
export interface JobStatus extends ObjectOf<typeof JobStatus> {}
