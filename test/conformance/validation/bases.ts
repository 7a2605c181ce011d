import type { Base } from "./base.ts"
import { AUTOSCALING_BASES } from "./bases-autoscaling.ts"
import { CERTIFICATE_BASES } from "./bases-certificates.ts"
import { CORE_BASES } from "./bases-core.ts"
import { FLOWCONTROL_BASES } from "./bases-flowcontrol.ts"
import { OTHER_BASES } from "./bases-others.ts"
import { POD_BASES } from "./bases-pods.ts"
import { DEVICE_BASES } from "./bases-devices.ts"
import { STORAGE_BASES } from "./bases-storage.ts"
import { WORKLOAD_BASES } from "./bases-workloads.ts"

export const BASES: readonly Base[] = [
  ...CORE_BASES,
  ...POD_BASES,
  ...WORKLOAD_BASES,
  ...STORAGE_BASES,
  ...OTHER_BASES,
  ...FLOWCONTROL_BASES,
  ...AUTOSCALING_BASES,
  ...CERTIFICATE_BASES,
  ...DEVICE_BASES,
]
