import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { TraceSpan, Tracing } from "../../../pkg/tracing/tracing.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import type { Stage } from "./stage.ts"

/** The names of the spans of a step in each stage. Source: pkg/kubelet/kubelet.go. */
const SPANS: Readonly<Record<Stage["is"], string>> = {
  running: "syncPod",
  terminating: "syncTerminatingPod",
  terminated: "syncTerminatedPod",
  finished: "syncTerminatedPod",
}

/** Starts the span of one step of a pod's worker, caused by the write of the pod's newest revision. */
export function stepSpan(
  tracing: Tracing,
  stage: Stage["is"],
  { uid, namespace, name }: PodIdentity,
  newest: Pod,
): TraceSpan {
  const cause = tracing.causes.of(newest.metadata.resourceVersion)
  return tracing.root(SPANS[stage], {
    causes: cause === undefined ? [] : [cause],
    attributes: { "k8s.pod.uid": uid, "k8s.namespace.name": namespace, "k8s.pod.name": name },
  })
}
