import { enumeration, field, message, repeated, type DecodedOf } from "../../../pkg/protobuf/message.ts"
import { Empty, service } from "../../../pkg/grpc/rpc.ts"

/**
 * How a plugin tells the kubelet the health of its driver's devices. Source: k8s.io/kubelet
 * pkg/apis/dra-health/v1alpha1/api.proto.
 */

/** `last_updated_time` (3) is left out: the age of a report counts from its arrival, as upstream. */
const ReportedHealth = message({
  device: field(1, message({ poolName: field(1, "string"), deviceName: field(2, "string") })),
  health: field(2, enumeration({ Unknown: 0, Healthy: 1, Unhealthy: 2 })),
  /** How long the report holds, in seconds; zero or less for the kubelet's default. */
  healthCheckTimeoutSeconds: field(4, "int64"),
  message: field(5, "string"),
})
export interface ReportedHealth extends DecodedOf<typeof ReportedHealth> {}

/** Each response is to name all devices of the driver. */
export const NodeWatchResources = service("v1alpha1.DRAResourceHealth")(
  "NodeWatchResources",
  Empty,
  message({ devices: repeated(1, ReportedHealth) }),
)
