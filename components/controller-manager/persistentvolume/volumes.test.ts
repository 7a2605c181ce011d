import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { syncOnce, wantedVolume, type World } from "./one-sync.fixtures.ts"
import { volumePhases } from "./volumes.ts"

/**
 * One sync of the controller for the volume `a`. `from` names the case of upstream's tests that asserts the same:
 * pkg/controller/volume/persistentvolume/{binder,delete,recycle}_test.go, pv_controller_test.go. The notation of the
 * lines is explained in one-sync.fixtures.ts. Objects that `wants` leaves out stay unchanged.
 */
interface Row {
  readonly title: string
  readonly from?: string
  readonly given: World
  readonly wants?: { readonly volumes?: readonly string[]; readonly events?: readonly string[] }
}

const user = (phase: string): Pod =>
  ({
    kind: "Pod",
    metadata: { namespace: "default", name: "p" },
    spec: { nodeName: "n", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    status: { phase },
  }) as unknown as Pod
const NOT_DELETED = ["Warning VolumeFailedDelete (volume)"]
const NOT_RECYCLED = ["Warning VolumeFailedRecycle (volume)"]

const rows: readonly Row[] = [
  {
    title: "without a claim is Available",
    from: "4-1",
    given: { volumes: ["a 1Gi Pending"] },
    wants: { volumes: ["a 1Gi Available"] },
  },
  {
    title: "that is reserved by the name of a claim is Available",
    from: "4-2",
    given: { volumes: ["a 1Gi Pending for=data"] },
    wants: { volumes: ["a 1Gi Available for=data"] },
  },
  {
    title: "whose claim is gone is Released",
    from: "4-3, 5-3",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"] },
    wants: { volumes: ["a 1Gi Released for=data/u chosen"] },
  },
  {
    title: "whose claim is gone is Released, though there is a new one of its name",
    from: "4-4",
    given: { volumes: ["a 1Gi Bound for=data/old"], claim: "1Gi Bound volume=a complete" },
    wants: { volumes: ["a 1Gi Released for=data/old"] },
  },
  {
    title: "that a controller bound waits for the claim to be bound",
    from: "4-5",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Pending" },
  },
  {
    title: "that a user bound waits for the claim to be bound",
    from: "4-5, 14-14-1",
    given: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Pending" },
  },
  {
    title: "whose claim names it is Bound",
    from: "4-6, 4-9",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a" },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  {
    title: "that a controller bound is Available again if its claim has another volume",
    from: "4-7, 10-2",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Bound volume=other" },
    wants: { volumes: ["a 1Gi Available"] },
  },
  {
    title: "that a user reserved stays reserved if its claim has another volume",
    from: "4-8",
    given: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=other" },
    wants: { volumes: ["a 1Gi Available for=data"] },
  },
  {
    title: "is not released for a claim that the informers do not show yet",
    from: "4-11",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a", unseen: true },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  {
    title: "is not released for a claim of which the informers show an earlier one",
    from: "4-12",
    given: { volumes: ["a 1Gi Available Delete for=data/u"], claim: "1Gi Bound volume=a", unseen: "old" },
    wants: { volumes: ["a 1Gi Bound Delete for=data/u"] },
  },
  // Modes.
  {
    title: "with volumeMode Filesystem is not bound to a claim with Block, with an Event",
    from: "14-13",
    given: { volumes: ["a 1Gi Available for=data/u chosen"], claim: "1Gi Pending Block" },
    wants: { events: ["Warning VolumeMismatch (volume)", "Warning VolumeMismatch"] },
  },
  {
    title: "with volumeMode Block is not bound to a claim with Filesystem, with an Event",
    from: "14-13-1",
    given: { volumes: ["a 1Gi Available Block for=data/u chosen"], claim: "1Gi Pending" },
    wants: { events: ["Warning VolumeMismatch (volume)", "Warning VolumeMismatch"] },
  },
  {
    title: "with volumeMode Block waits for its claim with Block",
    from: "14-14",
    given: { volumes: ["a 1Gi Available Block for=data/u chosen"], claim: "1Gi Pending Block" },
  },
  // Deletion. Nothing here deletes volumes that k3ts has not made: 8-1, 8-2, 8-4 to 8-7, 8-9, 8-13 and 9-1 are about
  // drivers inside of upstream's controller. Volumes of local-path are deleted by pkg/provisioner/reclaimer.ts.
  {
    title: "with reclaim policy Delete fails if nothing can delete it",
    from: "4-10, 8-3",
    given: { volumes: ["a 1Gi Bound Delete for=data/u"] },
    wants: { volumes: ["a 1Gi Failed Delete for=data/u"], events: NOT_DELETED },
  },
  {
    title: "that is Failed stays Failed, so that the user sees it",
    given: { volumes: ["a 1Gi Failed Delete for=data/u"] },
  },
  {
    title: "is left to the external driver that made it",
    from: "8-10-1, 5-6",
    given: { volumes: ["a 1Gi Bound Delete for=data/u chosen made=external.io/test"] },
    wants: { volumes: ["a 1Gi Released Delete for=data/u chosen made=external.io/test"] },
  },
  {
    title: "of a CSI driver is left to the driver, though its annotation is missing",
    from: "8-10-2",
    given: { volumes: ["a 1Gi Bound Delete csi for=data/u"] },
    wants: { volumes: ["a 1Gi Released Delete csi for=data/u"] },
  },
  {
    title: "of an in-tree driver is left to the CSI driver that replaced the in-tree one",
    from: "8-10-3",
    given: {
      volumes: ["a 1Gi Bound Delete for=data/u made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"],
    },
    wants: {
      volumes: ["a 1Gi Released Delete for=data/u made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"],
    },
  },
  {
    title: "of a driver that was removed from Kubernetes becomes Failed, with the driver's name in the Event",
    given: { volumes: ["a 1Gi Bound Delete for=data/u made=kubernetes.io/rbd finalizers=kubernetes.io/pv-controller"] },
    wants: {
      volumes: ["a 1Gi Failed Delete for=data/u made=kubernetes.io/rbd finalizers=kubernetes.io/pv-controller"],
      events: NOT_DELETED,
    },
  },
  {
    title: "that was provisioned is Released if its claim has another volume",
    from: "8-11, 8-12",
    given: {
      volumes: ["a 1Gi Bound Delete for=data/u made=external.io/test", "b 1Gi Bound Delete for=data/u made=x"],
      claim: "1Gi Bound volume=b",
    },
    wants: {
      volumes: ["a 1Gi Released Delete for=data/u made=external.io/test", "b 1Gi Bound Delete for=data/u made=x"],
    },
  },
  {
    title: "that was provisioned and has reclaim policy Retain stays reserved if its claim has another volume",
    given: { volumes: ["a 1Gi Bound for=data/u made=external.io/test"], claim: "1Gi Bound volume=b" },
    wants: { volumes: ["a 1Gi Available for=data made=external.io/test"] },
  },
  // Recycling, which nothing here does: 6-1, 6-2, 6-4 to 6-9, 6-14 and 7-1 need a recycler.
  {
    title: "with reclaim policy Recycle fails",
    from: "6-3",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"] },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/u"], events: NOT_RECYCLED },
  },
  {
    title: "with reclaim policy Recycle waits while a running pod uses it",
    from: "6-11",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Running")] },
    wants: { volumes: ["a 1Gi Released Recycle for=data/u"], events: ["Normal VolumeFailedRecycle (volume)"] },
  },
  {
    title: "with reclaim policy Recycle waits while a pending pod uses it",
    from: "6-12",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Pending")] },
    wants: { volumes: ["a 1Gi Released Recycle for=data/u"], events: ["Normal VolumeFailedRecycle (volume)"] },
  },
  {
    title: "with reclaim policy Recycle does not wait for pods that have ended",
    from: "6-13",
    given: { volumes: ["a 1Gi Bound Recycle for=data/u"], others: [user("Succeeded")] },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/u"], events: NOT_RECYCLED },
  },
  {
    title: "with reclaim policy Recycle does not wait for pods with a new claim of the same name",
    from: "6-14",
    given: {
      volumes: ["a 1Gi Bound Recycle for=data/old"],
      claim: "1Gi Pending",
      others: [user("Running")],
    },
    wants: { volumes: ["a 1Gi Failed Recycle for=data/old"], events: NOT_RECYCLED },
  },
  // Drivers that became CSI drivers, and the finalizers of who deletes storage: TestModifyDeletionFinalizers,
  // TestUpdateMigrationAnnotations.
  {
    title: "of a driver that became a CSI driver is annotated with the CSI driver",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"] },
  },
  {
    title: "with the annotation of a wrong CSI driver gets that of the right one",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=wrong"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"] },
  },
  {
    title: "loses the annotation of a CSI driver if its driver did not become one",
    from: "5-9",
    given: {
      volumes: ["a 1Gi Available Delete made=kubernetes.io/x migrated=y finalizers=kubernetes.io/pv-controller"],
    },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=kubernetes.io/pv-controller"] },
  },
  {
    title: "that nothing provisioned gets no annotation of a driver",
    given: { volumes: ["a 1Gi Available migrated=x"] },
  },
  {
    title: "of an external driver keeps that driver's finalizer",
    from: "13-1",
    given: {
      volumes: ["a 1Gi Available Delete made=x.io/d finalizers=external-provisioner.volume.kubernetes.io/finalizer"],
    },
  },
  {
    title: "of an external driver gets no finalizer",
    from: "13-2",
    given: { volumes: ["a 1Gi Available Delete made=x.io/d"] },
  },
  {
    title: "of an in-tree driver gets a finalizer beside the one that it has",
    from: "13-3, 13-4",
    given: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine"] },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine+kubernetes.io/pv-controller"] },
  },
  {
    title: "of an in-tree driver loses the finalizer of an external one",
    from: "13-5, 13-6, 13-8, 13-9",
    given: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/x finalizers=external-provisioner.volume.kubernetes.io/finalizer+mine",
      ],
    },
    wants: { volumes: ["a 1Gi Available Delete made=kubernetes.io/x finalizers=mine+kubernetes.io/pv-controller"] },
  },
  {
    title: "of a driver that became a CSI driver has only the CSI driver's finalizer",
    from: "13-7",
    given: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io " +
          "finalizers=external-provisioner.volume.kubernetes.io/finalizer+kubernetes.io/pv-controller",
      ],
    },
    wants: {
      volumes: [
        "a 1Gi Available Delete made=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io " +
          "finalizers=external-provisioner.volume.kubernetes.io/finalizer",
      ],
    },
  },
  {
    title: "that nothing provisioned keeps its finalizers",
    from: "13-10, 13-11, 13-15",
    given: { volumes: ["a 1Gi Available Delete finalizers=external-provisioner.volume.kubernetes.io/finalizer"] },
  },
  {
    title: "of an in-tree driver with reclaim policy Retain gets no finalizer",
    from: "13-12",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/x"] },
  },
  {
    title: "of an in-tree driver with reclaim policy Recycle gets no finalizer",
    from: "13-13",
    given: { volumes: ["a 1Gi Available Recycle made=kubernetes.io/x"] },
  },
  {
    title: "of an in-tree driver with reclaim policy Retain loses the finalizer",
    from: "13-14",
    given: { volumes: ["a 1Gi Available made=kubernetes.io/x finalizers=kubernetes.io/pv-controller"] },
    wants: { volumes: ["a 1Gi Available made=kubernetes.io/x"] },
  },
]

test.each(rows)("a volume $title", async ({ given, wants = {} }) => {
  // when
  const after = await syncOnce(volumePhases, "a", given)
  // then
  const { volumes = given.volumes ?? [], events = [] } = wants
  expect(after).toMatchObject({ volumes: volumes.map(wantedVolume), events })
})
