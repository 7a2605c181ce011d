import { field, map, message, repeated, type DecodedOf, type InitOf } from "../../../pkg/protobuf/message.ts"
import { service } from "../../../pkg/grpc/rpc.ts"

/** How the kubelet has devices prepared. Source: k8s.io/kubelet pkg/apis/dra/{v1,v1beta1}/api.proto. */

export const DraClaim = message({ namespace: field(1, "string"), uid: field(2, "string"), name: field(3, "string") })
export interface DraClaim extends InitOf<typeof DraClaim> {}

export const DraDevice = message({
  /** The requests of the claim that the device is for; empty for all requests. */
  requestNames: repeated(1, "string"),
  poolName: field(2, "string"),
  deviceName: field(3, "string"),
  cdiDeviceIds: repeated(4, "string"),
  /** Only in v1. */
  shareId: field(5, "string"),
})
export interface DraDevice extends DecodedOf<typeof DraDevice> {}

const Claims = message({ claims: repeated(1, DraClaim) })
const Prepared = message({
  claims: map(1, message({ devices: repeated(1, DraDevice), error: field(2, "string") })),
})
const Unprepared = message({ claims: map(1, message({ error: field(1, "string") })) })

const proceduresOf = (version: string) => {
  const plugin = service(`k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`)
  return {
    prepare: plugin("NodePrepareResources", Claims, Prepared),
    unprepare: plugin("NodeUnprepareResources", Claims, Unprepared),
  }
}

/** The gRPC services that the kubelet supports, by the names that plugins register. */
export const DRA_SERVICES = {
  "v1.DRAPlugin": proceduresOf("v1"),
  "v1beta1.DRAPlugin": proceduresOf("v1beta1"),
}
export type DraServiceName = keyof typeof DRA_SERVICES
