import { field, message, repeated, type DecodedOf } from "../../../pkg/protobuf/message.ts"
import { Empty, service } from "../../../pkg/grpc/rpc.ts"

/** How a plugin tells the kubelet about itself. Source: k8s.io/kubelet pkg/apis/pluginregistration/v1/api.proto. */

export const PluginInfo = message({
  /** `DRAPlugin`, `CSIPlugin` or `DevicePlugin`. */
  type: field(1, "string"),
  /** The name of the driver. */
  name: field(2, "string"),
  /** The socket on which the plugin serves its API; empty for the registration socket itself. */
  endpoint: field(3, "string"),
  /** The supported versions of the plugin's API; a DRA plugin lists gRPC services such as `v1.DRAPlugin`. */
  supportedVersions: repeated(4, "string"),
})
export interface PluginInfo extends DecodedOf<typeof PluginInfo> {}

export const RegistrationStatus = message({ pluginRegistered: field(1, "bool"), error: field(2, "string") })

const registration = service("pluginregistration.Registration")

export const GetInfo = registration("GetInfo", Empty, PluginInfo)
export const NotifyRegistrationStatus = registration("NotifyRegistrationStatus", RegistrationStatus, Empty)
