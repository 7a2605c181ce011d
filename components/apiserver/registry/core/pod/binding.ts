import { Binding } from "../../../../../pkg/api/core/v1/binding.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { decodeSent } from "../../decode.ts"
import { badRequest, conflict, invalid, type Status } from "../../../../../pkg/apimachinery/errors.ts"
import { required, notSupported } from "../../../../../pkg/apimachinery/validation/field-errors.ts"
import { timestamp } from "../../../../../pkg/clock/clock.ts"
import type { ApiRequest, ApiResult } from "../../../call/request.ts"
import { admitBody } from "../../admission-attributes.ts"
import type { RegistryContext } from "../../context.ts"
import { checkPrecondition } from "../../stored-precondition.ts"
import { updateBySubresource } from "../../subresource-update.ts"

/**
 * POST pods/binding: assigns a pod to a node, once. `asked` is the request as admission sees it. Source:
 * pkg/registry/core/pod/storage/storage.go BindingREST.assignPod.
 */
export async function bind(
  context: RegistryContext,
  request: ApiRequest,
  asked: ApiRequest = request,
): Promise<ApiResult> {
  const sent = decodeSent(Binding, request.body, request)
  const name = request.name ?? sent.metadata.name ?? ""
  const binding = await admitBody(context, { ...asked, name }, sent, (admitted) => checkBinding(admitted, name))
  await updateBySubresource(
    context,
    Pod,
    { ...request, name },
    { change: (pod) => bound(context, request, pod, binding) },
  )
  return { kind: "status", code: 201, status: CREATED }
}

/** What a refused binding is about. Source: BindingREST.assignPod. */
const PODS_BINDING = { group: "", plural: "pods/binding" }
const CREATED: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

/** Source: pkg/apis/core/validation/validation.go ValidatePodBinding. */
function checkBinding({ metadata, target }: Binding, name: string): void {
  if (metadata.name !== undefined && metadata.name !== name)
    throw badRequest("name in URL does not match name in Binding object")
  // A Binding is not validated as stored objects are, so even a required field may be absent.
  const { kind = "", name: node = "" } = (target as Binding["target"] | undefined) ?? {}
  if (kind !== "" && kind !== "Node")
    throw invalid(Binding, name, [notSupported("target.kind", kind, ["Node", "<empty>"])])
  if (node === "") throw invalid(Binding, name, [required("target.name")])
}

function bound({ clock }: RegistryContext, { resource, options }: ApiRequest, pod: Pod, binding: Binding): Pod {
  const { metadata, spec } = pod
  // The nomination has done its work: left there, it would mislead autoscalers and the next scheduler.
  const { nominatedNodeName: _, ...status } = pod.status
  const refuse = (why: string) => conflict(PODS_BINDING, metadata.name!, why)
  const asked = { resource, namespace: metadata.namespace, dryRun: options.dryRun, name: metadata.name! }
  checkPrecondition({ ...asked, wanted: binding.metadata.uid, current: metadata.uid })
  checkPrecondition({
    ...asked,
    by: "ResourceVersion",
    wanted: binding.metadata.resourceVersion,
    current: metadata.resourceVersion,
  })
  if (metadata.deletionTimestamp !== undefined)
    throw refuse(`pod ${metadata.name} is being deleted, cannot be assigned to a host`)
  if (spec.nodeName !== undefined && spec.nodeName !== "")
    throw refuse(`pod ${metadata.name} is already assigned to node ${JSON.stringify(spec.nodeName)}`)
  if (spec.schedulingGates !== undefined && spec.schedulingGates.length > 0)
    throw refuse(`pod ${metadata.name} has non-empty .spec.schedulingGates`)
  const scheduled = {
    type: "PodScheduled",
    status: "True" as const,
    lastProbeTime: null,
    lastTransitionTime: timestamp(clock),
  }
  const conditions = [...(status.conditions ?? []).filter(({ type }) => type !== "PodScheduled"), scheduled]
  const { annotations, labels } = binding.metadata
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(annotations === undefined ? {} : { annotations: { ...metadata.annotations, ...annotations } }),
      ...(labels === undefined ? {} : { labels: { ...metadata.labels, ...labels } }),
    },
    spec: { ...spec, nodeName: binding.target.name! },
    status: { ...status, conditions },
  }
}
