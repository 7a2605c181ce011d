/**
 * How far a pod is on this node. Each stage is entered once, in this order:
 *  - running:     each step compares what the pod wants with what runs (`planOf`), and carries out the difference;
 *  - terminating: the containers are being ended. Only a shorter grace period interrupts that;
 *  - terminated:  all containers have ended. The volumes are unmounted, and if the pod was deleted, its object is
 *    removed from the API;
 *  - finished:    the API no longer has the pod, and its remains on the node are removed.
 */
export type Stage =
  | {
      readonly is: "running"
      /** Whether the node has admitted the pod since this kubelet started. */
      readonly isAdmitted: boolean
      /** Whether what ran when this kubelet started was looked through. */
      readonly isAdopted: boolean
      /** Whether the containers have ended for good, as the status says or is about to say. */
      readonly isOver: boolean
    }
  | { readonly is: "terminating"; readonly isAdmitted: boolean; readonly isOver: boolean }
  | {
      readonly is: "terminated"
      readonly isAdmitted: boolean
      /** Whether the volumes are unmounted and the cgroup is removed. */
      readonly isCleanedUp: boolean
    }
  | { readonly is: "finished"; readonly isAdmitted: boolean }

/** The stage of a pod that the kubelet has just seen. */
export const FIRST: Stage = { is: "running", isAdmitted: false, isAdopted: false, isOver: false }

/** Whether all containers have ended and none will be started. */
export const isTerminated = ({ is }: Stage): boolean => is === "terminated" || is === "finished"

/** Whether the containers have ended for good, though the status may not say so yet. What the pod had is free then. */
export const isOver = (stage: Stage): boolean => isTerminated(stage) || ("isOver" in stage && stage.isOver)

/** Whether nothing of the pod is left on the node but its logs and containers that have ended. */
export const isCleanedUp = (stage: Stage): boolean =>
  stage.is === "finished" || (stage.is === "terminated" && stage.isCleanedUp)
