import type { Manifest } from "../program.ts"
import { LATE, SHARED } from "./names.ts"

/** The objects that exist before a program begins. */
export const PRELOAD: readonly Manifest[] = [
  { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "urgent" }, value: 1000 },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: LATE },
    provisioner: "example.com/disks",
    volumeBindingMode: "WaitForFirstConsumer",
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: SHARED },
    provisioner: "example.com/disks",
  },
]
