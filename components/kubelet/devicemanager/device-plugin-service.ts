import { field, map, message, repeated, type DecodedOf } from "../../../pkg/protobuf/message.ts"
import { Empty, service } from "../../../pkg/grpc/rpc.ts"
import { Device as CriDevice } from "../../../pkg/cri/container.ts"

/** How device plugins and the kubelet talk. Source: k8s.io/kubelet pkg/apis/deviceplugin/v1beta1/api.proto. */

export const VERSION = "v1beta1"

export const PluginOptions = message({
  /** Whether the plugin is asked before each start of a container. */
  preStartRequired: field(1, "bool"),
  /** Whether the plugin says which devices it would rather give. */
  getPreferredAllocationAvailable: field(2, "bool"),
})
export interface PluginOptions extends DecodedOf<typeof PluginOptions> {}

export const RegisterRequest = message({
  version: field(1, "string"),
  /** The name of the plugin's socket in the folder of the kubelet's. */
  endpoint: field(2, "string"),
  resourceName: field(3, "string"),
  options: field(4, PluginOptions),
})
export interface RegisterRequest extends DecodedOf<typeof RegisterRequest> {}

const NumaNode = message({ id: field(1, "int64") })
export const PluginDevice = message({
  id: field(1, "string"),
  /** `Healthy`; anything else counts as unhealthy. */
  health: field(2, "string"),
  topology: field(3, message({ nodes: repeated(1, NumaNode) })),
})
export interface PluginDevice extends DecodedOf<typeof PluginDevice> {}

/** What a container gets with its devices. */
export const ContainerAllocation = message({
  envs: map(1, "string"),
  mounts: repeated(
    2,
    message({ containerPath: field(1, "string"), hostPath: field(2, "string"), readOnly: field(3, "bool") }),
  ),
  devices: repeated(3, CriDevice),
  annotations: map(4, "string"),
  cdiDevices: repeated(5, message({ name: field(1, "string") })),
})
export interface ContainerAllocation extends DecodedOf<typeof ContainerAllocation> {}

const Ids = message({ deviceIds: repeated(1, "string") })
const Preference = message({
  available: repeated(1, "string"),
  mustInclude: repeated(2, "string"),
  size: field(3, "int32"),
})

export const Register = service(`${VERSION}.Registration`)("Register", RegisterRequest, Empty)

const plugin = service(`${VERSION}.DevicePlugin`)
export const GetDevicePluginOptions = plugin("GetDevicePluginOptions", Empty, PluginOptions)
/** A stream of all devices, after each change. */
export const ListAndWatch = plugin("ListAndWatch", Empty, message({ devices: repeated(1, PluginDevice) }))
export const GetPreferredAllocation = plugin(
  "GetPreferredAllocation",
  message({ containers: repeated(1, Preference) }),
  message({ containers: repeated(1, Ids) }),
)
export const Allocate = plugin(
  "Allocate",
  message({ containers: repeated(1, Ids) }),
  message({ containers: repeated(1, ContainerAllocation) }),
)
export const PreStartContainer = plugin("PreStartContainer", Ids, Empty)
