/** The runtime itself: version, conditions, features. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
import { field, map, message, repeated, type DecodedOf } from "../protobuf/message.ts"

export const VersionResponse = message({
  version: field(1, "string"),
  runtimeName: field(2, "string"),
  runtimeVersion: field(3, "string"),
  runtimeApiVersion: field(4, "string"),
})
export interface VersionResponse extends DecodedOf<typeof VersionResponse> {}

export const RuntimeCondition = message({
  /** Every runtime reports the two conditions `RuntimeReady` and `NetworkReady`. */
  type: field(1, "string"),
  status: field(2, "bool"),
  reason: field(3, "string"),
  message: field(4, "string"),
})

export const RuntimeConfigResponse = message({
  linux: field(1, message({ cgroupDriver: field(1, "int32") })),
})

const RuntimeHandler = message({
  /** Empty for the default handler. */
  name: field(1, "string"),
  features: field(2, message({ recursiveReadOnlyMounts: field(1, "bool"), userNamespaces: field(2, "bool") })),
})

export const StatusResponse = message({
  status: field(1, message({ conditions: repeated(1, RuntimeCondition) })),
  /** Present only in a verbose status: JSON by topic, in the runtime's own form. */
  info: map(2, "string"),
  runtimeHandlers: repeated(3, RuntimeHandler),
  features: field(
    4,
    message({ supplementalGroupsPolicy: field(1, "bool"), userNamespacesHostNetwork: field(2, "bool") }),
  ),
})
export interface StatusResponse extends DecodedOf<typeof StatusResponse> {}
