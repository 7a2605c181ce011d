import type { ReceivedSpan } from "./otlp-receiver.ts"

/** The trace of the test's apply, with the span of the test itself. */
export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
export const CLIENT_SPAN_ID = "00f067aa0ba902b7"
export const traceparent = `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01`

const labels = { app: "web" }
/** The Service. It is created before the trace begins. */
export const SERVICE = {
  path: "/api/v1/namespaces/default/services/web",
  object: {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: labels, ports: [{ port: 80 }] },
  },
}

/** The objects that the traced apply creates. */
export const DEPLOYMENT = {
  path: "/apis/apps/v1/namespaces/default/deployments/web",
  object: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } },
    },
  },
}

/** The phases from apply to a ready pod and its endpoint, as `service: span`. */
export const APPLY_PHASES = [
  "apiserver: PATCH /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}",
  "apiserver: Patch",
  "apiserver: Mutating admission",
  "apiserver: Validating admission",
  "apiserver: Create etcd3",
  "kube-controller-manager: deployment-controller reconcile",
  "apiserver: POST /apis/apps/v1/namespaces/{:namespace}/replicasets",
  "kube-controller-manager: replicaset-controller reconcile",
  "apiserver: POST /api/v1/namespaces/{:namespace}/pods",
  "kube-scheduler: Schedule pod",
  "kube-scheduler: Scheduling cycle",
  "kube-scheduler: Binding cycle",
  "apiserver: POST /api/v1/namespaces/{:namespace}/pods/{:name}/binding",
  "kubelet: syncPod",
  "kubelet: Admit pod",
  "kubelet: Mount volumes",
  "kubelet: Create sandbox",
  "kubelet: runtime.v1.RuntimeService/RunPodSandbox",
  "kubelet: Start container",
  "kubelet: runtime.v1.ImageService/PullImage",
  "kubelet: runtime.v1.RuntimeService/CreateContainer",
  "kubelet: runtime.v1.RuntimeService/StartContainer",
  "kubelet: Write pod status",
  "apiserver: PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status",
  "kube-controller-manager: endpointslice-controller reconcile",
  "apiserver: PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status",
]

/** Spans of nearly every request, which the picture leaves out. */
const OFTEN: readonly string[] = ["Patch", "Create", "Mutating admission", "Validating admission"]

/** Whether a span is drawn in the picture of the trace. */
export const isInPicture = ({ service, name }: ReceivedSpan): boolean =>
  APPLY_PHASES.includes(`${service}: ${name}`) && !OFTEN.includes(name)

/**
 * Whether the spans of all phases have arrived, up to the Deployment's status with the ready pod, and are connected.
 */
export function untilReady(spans: readonly ReceivedSpan[]): boolean {
  const own = spans.filter(({ traceId }) => traceId === TRACE_ID)
  const names = new Set(own.map(({ service, name }) => `${service}: ${name}`))
  return APPLY_PHASES.every((phase) => names.has(phase)) && statusWritten(own) && lostSpans(own).length === 0
}

/** Returns the spans whose parents have not arrived. A span is sent when it ends, so parents arrive later. */
export function lostSpans(spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  const ids = new Set([CLIENT_SPAN_ID, ...spans.map(({ spanId }) => spanId)])
  return spans.filter(({ parentSpanId }) => !ids.has(parentSpanId))
}

/** Whether the controllers wrote the Deployment's status after the kubelet wrote the pod's. */
function statusWritten(spans: readonly ReceivedSpan[]): boolean {
  const written = spans.findLast(({ name }) => name.endsWith("/pods/{:name}/status"))
  const told = spans.findLast(({ name }) => name.startsWith("PUT") && name.endsWith("/deployments/{:name}/status"))
  return written !== undefined && told !== undefined && told.start > written.start
}
