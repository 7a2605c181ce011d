import { nameWarnings } from "../podtemplate/template-warnings.ts"
import { podSpecWarnings } from "./podspec-warnings.ts"
import { f } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectOfResource } from "../../../../apimachinery/resource.ts"
import { completedCondition, readinessGatesCell, restartsCell, summarizePod } from "./pod-columns.ts"
import { defaultPodSpec } from "./pod-defaults.ts"
import { prepareResize, validateResize } from "./resources/pod-resize.ts"
import { podGracePeriod, prepareEphemeralContainers, prepareNewPod, preparePodStatus } from "./pod-strategy.ts"
import { PodSpec } from "./podspec.ts"
import { validatePodStatusChange } from "./podstatus-validation.ts"
import { PodStatus } from "./podstatus.ts"
import { validatePodChange } from "./pod-change-validation.ts"
import { validatePodAnnotations } from "./pod-annotations-validation.ts"
import { validateEphemeralContainersChange, validateNewPod, validatePod } from "./pod-validation.ts"

export const Pod = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Pod",
    plural: "pods",
    shortNames: ["po"],
    categories: ["all"],
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    generation: true,
    keepsStatusOnCreate: true,
    doc: "Containers that run together on one node.",
    returnsDeletedObject: true,
    rowConditions: completedCondition,
    columns: [
      {
        name: "Ready",
        type: "string",
        doc: "Ready containers and all containers.",
        value: (pod) => {
          const { ready, total } = summarizePod(pod)
          return `${ready}/${total}`
        },
      },
      {
        name: "Status",
        type: "string",
        doc: "State of the containers in one word.",
        value: (pod) => summarizePod(pod).status,
      },
      { name: "Restarts", type: "string", doc: "How often containers were restarted.", value: restartsCell },
      {
        name: "IP",
        type: "string",
        priority: 1,
        doc: "Address of the pod.",
        value: (pod) => pod.status.podIPs?.[0]?.ip || undefined,
      },
      {
        name: "Node",
        type: "string",
        priority: 1,
        doc: "Node that runs the pod.",
        value: (pod) => pod.spec.nodeName || undefined,
      },
      {
        name: "Nominated Node",
        type: "string",
        priority: 1,
        doc: "Node on which preemption makes room for the pod.",
        value: (pod) => pod.status.nominatedNodeName || undefined,
      },
      {
        name: "Readiness Gates",
        type: "string",
        priority: 1,
        doc: "Readiness gates that are true, and all of them.",
        value: readinessGatesCell,
      },
    ],
    fieldSelectors: {
      "spec.nodeName": (pod) => pod.spec.nodeName ?? "",
      "spec.restartPolicy": (pod) => pod.spec.restartPolicy,
      "spec.schedulerName": (pod) => pod.spec.schedulerName,
      "spec.serviceAccountName": (pod) => pod.spec.serviceAccountName ?? "",
      "spec.hostNetwork": (pod) => String(pod.spec.hostNetwork ?? false),
      "status.phase": (pod) => pod.status.phase ?? "",
      "status.podIP": (pod) => pod.status.podIPs?.[0]?.ip ?? "",
      "status.podIPs": (pod) => pod.status.podIPs?.[0]?.ip ?? "",
      "status.nominatedNodeName": (pod) => pod.status.nominatedNodeName ?? "",
    },
    subresources: {
      status: {
        resets: [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]],
        prepareForUpdate: (pod, old) => preparePodStatus(pod, old),
        validateUpdate: (pod, old) => validatePodStatusChange(pod, old),
      },
      other: {
        attach: { verbs: ["create", "get"], kind: "PodAttachOptions" },
        binding: { verbs: ["create"], kind: "Binding" },
        ephemeralcontainers: {
          verbs: ["get", "patch", "update"],
          kind: "Pod",
          strategy: {
            changes: [["spec", "ephemeralContainers"]],
            prepareForUpdate: (pod, old) => prepareEphemeralContainers(pod, old),
            validateUpdate: (pod, old) => validateEphemeralContainersChange(pod, old),
          },
        },
        eviction: { verbs: ["create"], kind: "Eviction", group: "policy", version: "v1" },
        exec: { verbs: ["create", "get"], kind: "PodExecOptions" },
        log: { verbs: ["get"], kind: "Pod" },
        portforward: { verbs: ["create", "get"], kind: "PodPortForwardOptions" },
        proxy: { verbs: ["create", "delete", "get", "patch", "update"], kind: "PodProxyOptions" },
        resize: {
          verbs: ["get", "patch", "update"],
          kind: "Pod",
          strategy: {
            changes: [
              ["spec", "resources"],
              ...["containers", "initContainers"].flatMap((list) => [
                ["spec", list, "*", "resources"],
                ["spec", list, "*", "resizePolicy"],
              ]),
            ],
            prepareForUpdate: (pod, old) => prepareResize(pod, old),
            validateUpdate: (pod, old) => validateResize(pod, old),
          },
        },
      },
    },
    defaults(pod, known) {
      if (pod.spec === known?.spec) return pod
      const spec = defaultPodSpec(pod.spec)
      return spec === pod.spec ? pod : { ...pod, spec }
    },
    prepareForCreate: (pod, context) => prepareNewPod(pod, context),
    // Updates return no warnings: most come from programs, whose users would not see them.
    warnings: (pod, old) =>
      old === undefined ? [...nameWarnings(pod, "the Pod's hostname"), ...podSpecWarnings(pod, "")] : [],
    validate: (pod, old) => validatePodAnnotations(pod, old),
    validateSpec: (pod, old) => validatePod(pod, old),
    validateCreate: (pod) => validateNewPod(pod),
    validateSpecUpdate: (pod, old) => validatePodChange(pod, old),
    gracefulDeletion: podGracePeriod,
  },
  {
    spec: f.message(2, PodSpec, "What the pod runs, and how.").always(),
    status: f.message(3, PodStatus, "What has become of it.").always(),
  },
)
export type Pod = ObjectOfResource<typeof Pod>
