import { formerMembers } from "../etcd/former-members.ts"
import { memberController, type Members } from "../etcd/member-controller.ts"
import type { Clients } from "./clients.ts"
import { controllerComponent } from "./controller-component.ts"
import { Part } from "./part.ts"

/** Keeps the members of etcd in line with the Nodes of servers. */
export const etcdMembers = (clients: Clients, members: () => Members): Part =>
  new Part({
    name: "etcd-members",
    clients,
    user: { name: "system:k3ts-node-role" },
    create: (context) => controllerComponent(memberController(members()), context),
  })

/** Takes the role and the finalizer of a member of etcd from Nodes, where no server has an etcd of its own. */
export const formerEtcdMembers = (clients: Clients): Part =>
  new Part({
    name: formerMembers.name,
    clients,
    user: { name: "system:k3ts-node-role" },
    create: (context) => controllerComponent(formerMembers, context),
  })
