// Generated from openapi.json by `npm run types`.

export interface paths {
    "/api/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is recorded for all runs, in the order in which it was committed, without the values: for lists that follow. Server-sent
         *     events, each with a [`FeedChange`]. Without a position, what comes from now on.
         */
        get: operations["watch_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How many runs there are, by status. */
        get: operations["count_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/graphs/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The graph with this hash, of whichever run. The events and the view of a run have the hashes of the child workflows that its nodes
         *     have called.
         */
        get: operations["get_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The open questions of all runs, the one that has been open for the longest time first, a page at a time. */
        get: operations["list_questions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Runs, newest first, a page at a time. */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A run. */
        get: operations["get_run"];
        put?: never;
        post?: never;
        /** Deletes a run that has ended. */
        delete: operations["delete_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/answers/{question}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question. An answer that does not have the type that was asked for is refused, and the problem names the field. */
        post: operations["answer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a run. It ends when its nodes have stopped. A run that has ended does not change, and the response says how it has ended. */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/conversation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The conversation below a node: what models were asked and have replied, and the tools that they have called; with `at`, as it was after
         *     that event. For a model call, what was said in it. Which things have one is in the view: a `replied` names a model call, as does an `error` with
         *     `model_call`, and what that is in has the conversation. Nothing is said in any other.
         */
        get: operations["get_conversation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a run, past ones and as they come: server-sent events, whose id is the position of the event. The stream ends
         *     with the run. A reader that does not keep up is cut off; with its `Last-Event-ID` it continues where it was.
         */
        get: operations["watch_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Starts a new run with the events of this one before a moment. This run does not change. Without the workflow the fork is requested: a
         *     process that has it carries it out.
         */
        post: operations["fork_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The graph under which the last events of a run were recorded, also where its workflow is not registered. */
        get: operations["get_run_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The view of a run as it changes: server-sent events whose data is a [`ViewPart`] each, at most ten a second. The first is the
         *     whole view, or what was added since the `Last-Event-ID`. The stream ends with the run, after an event of the type `end`; a
         *     browser is to close its `EventSource` then, and to open it again when the run is retried.
         */
        get: operations["watch_view"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The open questions of a run. */
        get: operations["list_questions_of_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Retries a run that has failed or was cancelled. Recorded results are reused. */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/signals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The signals that nodes of a run wait for, by their names. */
        get: operations["list_signals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/signals/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a signal to a run. */
        post: operations["signal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The values of one thing of a run: its input, its output, its errors with the attempts, its messages, notes and writes to the
         *     state; with `at`, as they were after that event.
         */
        get: operations["get_values"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{id}/view": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The view of a run, or what was added to it since a cursor. */
        get: operations["get_view"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What this server is and lets do. */
        get: operations["get_server"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workflows that are registered with this server. A server on a bare store has none. */
        get: operations["list_workflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A registered workflow: its graph and its schemas, and those of the workflows in it. */
        get: operations["get_workflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/{name}/pictures/{format}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A picture of a registered workflow as text. */
        get: operations["get_picture"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/{name}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts a run of a registered workflow. Its input is checked, and the problem names the field. */
        post: operations["start_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An answer to a question. */
        Answer: {
            /** @description The answer, by the schema of the question. */
            answer: unknown;
            /** @description Who gives it. */
            by?: string | null;
            /** @description A comment on it. */
            comment?: string | null;
        };
        /** @description What has become of an answer. */
        Answered: {
            /**
             * @description Whether it has the type that was asked for. If not, with status 202: it is recorded, its node has not read it yet, and it
             *     may still be rejected.
             */
            accepted: boolean;
        };
        /** @description An open question with the run that asks it. */
        AskedQuestion: {
            /**
             * Format: int64
             * @description When it was asked, in milliseconds since 1970.
             */
            asked: number;
            /** @description The question. */
            question: components["schemas"]["Question"];
            /** @description The id of the run. */
            run: string;
            /** @description The tags of the run. */
            tags: {
                [key: string]: string;
            };
            /** @description The name of its workflow. */
            workflow: string;
        };
        /** @description An attempt, as its events have it. Times are milliseconds since 1970. */
        Attempt: {
            /**
             * Format: int32
             * @description Its number, from 1.
             */
            attempt: number;
            /**
             * Format: int64
             * @description When it began.
             */
            began?: number | null;
            /**
             * Format: int64
             * @description When it ended.
             */
            ended?: number | null;
            /** @description Its error and the sources of it, outermost first. */
            error?: string[];
            error_value?: components["schemas"]["Given"] | null;
            /** @description The fault, if it was one: a time limit, a panic and so on. */
            fault?: unknown;
            /**
             * Format: int64
             * @description When the next attempt may start.
             */
            retry_at?: number | null;
        };
        /** @description A signal that a node waits for. */
        AwaitedSignal: {
            /** @description Its name. */
            name: string;
            /** @description The node that waits. */
            path: string;
            /** @description The JSON Schema of its payload; null if that is not known. */
            schema?: unknown;
            /**
             * Format: int64
             * @description Until when it waits, in milliseconds since 1970.
             */
            until?: number | null;
        };
        /** @description What has become of a cancellation. */
        Cancellation: {
            /** @description The run that is cancelled: the last one that follows, if the run has started over. */
            run: string;
            /** @description Its status. If it has ended, with status 200: `cancelled`, or how it had ended before. */
            status: components["schemas"]["Status"];
        };
        /** @description What was said below a node: the calls of models and of the tools that they ask for, in the order of the events. */
        Conversation: {
            /** @description The path of the node: an agent, or a node that runs one. */
            path: string;
            /** @description What was said. */
            said: components["schemas"]["Said"][];
        };
        /** @description How many runs there are, by status. */
        Counts: {
            /**
             * Format: int64
             * @description All of them together.
             */
            all: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            completed: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            running: number;
            /** Format: int64 */
            sleeping: number;
            /** Format: int64 */
            started_over: number;
            /** Format: int64 */
            waiting: number;
        };
        /** @description Something of an event that is not a state. */
        Detail: components["schemas"]["What"] & {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int32
             * @description The thing that it is about; 0 for the run.
             */
            thing: number;
        };
        /** @description An empty object, or no body. */
        Empty: Record<string, never>;
        /** @description Something was recorded for a run: an item of the stream of changes. Its values are not in it. */
        FeedChange: {
            /** @description The path of the event. */
            path: string;
            /** @description The id of the run. */
            run: string;
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it was recorded, in milliseconds since 1970.
             */
            time: number;
            /** @description The type of the event: `node_started`. */
            type: string;
            /** @description The name of its workflow. */
            workflow: string;
        };
        /** @description Where to fork a run. */
        Fork: {
            /**
             * Format: int64
             * @description The number of the first event that is not copied; without it, all that came before the end of the run are.
             * @default null
             */
            before: number | null;
            /**
             * @description The id of the new run; without one it gets a new one.
             * @default null
             */
            id: string | null;
        };
        /** @description What a run was forked from. */
        ForkedFrom: {
            /**
             * Format: int64
             * @description The number of the first event that was not copied.
             */
            before: number;
            /** @description The id of the run. */
            run: string;
        };
        /** @description An input. */
        Given: {
            /** @description The value. */
            value: unknown;
        };
        /** @description The graph of a workflow. */
        Graph: {
            /** @description Its doc comment. */
            doc: string;
            /** @description The edges. */
            edges: components["schemas"]["GraphEdge"][];
            /** @description The JSON Schema of its input. */
            input: unknown;
            /** @description Whether the workflow has no output. END then has an implied edge from START, which pictures leave out. */
            is_unit: boolean;
            /** @description The loops, an outer one before those inside it. */
            loops: components["schemas"]["GraphLoop"][];
            /** @description The name of the workflow. */
            name: string;
            /** @description START, END, and the nodes in the order in which they were first written. */
            nodes: components["schemas"]["GraphNode"][];
            /** @description The JSON Schema of its output. */
            output: unknown;
        };
        /** @description An edge; its ends are indices of `nodes`. */
        GraphEdge: {
            /** @description The arms of the source that take it: indices of its `labels`. Empty if the source has no routes. */
            arms: number[];
            /** @description The loop whose next turn it starts, if it does. */
            back?: number | null;
            /** @description Its source. */
            from: number;
            /** @description Its target. */
            to: number;
        };
        /** @description A loop. */
        GraphLoop: {
            /** @description The nodes at which each turn starts. */
            heads: number[];
            /** @description The nodes that run in its turns and in no inner loop's. */
            members: number[];
            /** @description The loop around it. */
            parent?: number | null;
        };
        /** @description A node of a graph. */
        GraphNode: {
            /** @description By the index of an arm, how often it may be taken before `spent` is. */
            at_most?: {
                [key: string]: number;
            };
            /** @description The doc comment of its function. */
            doc: string;
            /** @description The loop that it runs in: an index of `loops`. */
            in_loop?: number | null;
            /** @description The JSON Schema of its input; null for START. */
            input: unknown;
            /** @description Its kind. */
            kind: components["schemas"]["NodeKind"];
            /** @description The labels of its arms, in order; empty for a node without routes. */
            labels: string[];
            /** @description Its name in paths. */
            name: string;
            /** @description The JSON Schema of its output; null for END. */
            output: unknown;
            /** @description The pool that executes its attempts. */
            pool?: string | null;
            /** @description The nodes that it may call as children: the tools of an agent. */
            uses?: components["schemas"]["GraphUse"][];
            /** @description The ways in. */
            ways: components["schemas"]["Way"][];
        };
        /** @description A node that another one may call. */
        GraphUse: {
            /** @description The doc comment of its function. */
            doc: string;
            /** @description Its name in paths. */
            name: string;
            /** @description The nodes that it may call in turn. One that was already listed, and a workflow, are listed without them. */
            uses?: components["schemas"]["GraphUse"][];
        };
        /** @description The graph of a workflow with those of the workflows in it. */
        Graphs: {
            /** @description The graph of the workflow. */
            graph: components["schemas"]["Graph"];
            /** @description The graphs of the workflows that are nodes in it or in each other, each once. */
            nested: components["schemas"]["Graph"][];
        };
        /** @description How many items of a `[..]` are done. */
        Items: {
            /**
             * Format: int64
             * @description Of so many.
             */
            all: number;
            /**
             * Format: int64
             * @description So many items are done.
             */
            done: number;
            /** @description The node with which an item of it was done last, without the number of the item. */
            path: string;
        };
        /**
         * @description The kind of a thing. In a [`ViewPart`] it is its index here.
         * @enum {string}
         */
        KindName: "run" | "node" | "workflow" | "each" | "item" | "child" | "step" | "question" | "timer" | "wait";
        /** @description A message. */
        Message: {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /** @description The whole text. */
            text: string;
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description An attempt that follows a failed one, after its delay. */
        NextAttempt: {
            /**
             * Format: int64
             * @description When it may start.
             */
            at: number;
            /** @description The first line of why the last one has failed, at most 200 characters. */
            failure: string;
            /**
             * Format: int32
             * @description Its number; the first attempt is 1.
             */
            number: number;
        };
        /** @description The kind of a node. */
        NodeKind: "Start" | "End" | "Step" | {
            /** @description Another workflow, by its name. */
            Workflow: string;
        } | {
            /** @description `[..]`: this graph, for each item. */
            Each: components["schemas"]["Graph"];
        };
        /** @description The values of one thing of a run. What it does not have is left out. */
        NodeValues: {
            /** @description Its attempts, oldest first. */
            attempts?: components["schemas"]["Attempt"][];
            input?: components["schemas"]["Given"] | null;
            /** @description Why the input is not known: the workflow is not registered with this server, or has changed. */
            input_unknown?: string | null;
            /** @description Its messages. */
            messages?: components["schemas"]["Message"][];
            /** @description Its notes. */
            notes?: components["schemas"]["Note"][];
            output?: components["schemas"]["Returned"] | null;
            /** @description Its path. */
            path: string;
            question?: components["schemas"]["Question"] | null;
            /** @description Its writes to the state of the run. */
            state?: unknown[];
        };
        /** @description A note. */
        Note: {
            /** @description Its name. */
            name: string;
            /** @description Its data. */
            payload: unknown;
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            time: number;
        };
        /** @description Where a run is: the last thing of which something was recorded. */
        Position: {
            /**
             * Format: int32
             * @description The number of its attempt, if the last record is that an attempt has started.
             */
            attempt?: number | null;
            items?: components["schemas"]["Items"] | null;
            next_attempt?: components["schemas"]["NextAttempt"] | null;
            /** @description Its path. */
            path: string;
            /**
             * Format: int64
             * @description The time of that record.
             */
            since: number;
        };
        /** @description Why a request is refused: the JSON of RFC 9457, with the field that is wrong. */
        Problem: {
            /** @description Which kind of problem it is, for programs: `unknown_run`, `invalid_input`. */
            code: string;
            /** @description What is wrong, and what to do. */
            detail: string;
            /**
             * @description Where in the value that was sent: `lines[2].price`; `.` for the whole. For a problem with the request itself, the name
             *     of the parameter.
             */
            field?: string | null;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description The code in words. */
            title: string;
            /** @description `urn:graphweft:` and the code. */
            type: string;
        };
        /** @description What a node has sent by `ctx.progress(..)`. It is not recorded: a server that has started later does not know it. */
        Progress: {
            /** @description The data; null if it is larger than 2 kB. */
            data: unknown;
            /**
             * Format: int64
             * @description Counts up over the run.
             */
            number: number;
            /**
             * Format: int64
             * @description The number of the last event before it.
             */
            seq: number;
            /**
             * Format: int32
             * @description The node.
             */
            thing: number;
        };
        /** @description An open question. */
        Question: {
            /** @description Its id in the run: `checkout/review#2/approve`. In a URL it is percent-encoded as a whole. */
            id: string;
            /** @description Its name, with its key: `approve:4711`. */
            name: string;
            /** @description The node that asks. */
            path: string;
            /** @description Data to show with it. */
            payload: unknown;
            /** @description The text. */
            prompt: string;
            /** @description The JSON Schema of the answer. */
            schema: unknown;
            /**
             * Format: int64
             * @description Until when the node waits for an answer, in milliseconds since 1970.
             */
            until?: number | null;
        };
        /** @description A page of open questions, the one that has been open for the longest time first. */
        Questions: {
            /** @description The `cursor` of the next page; null if this is the last one. */
            next?: string | null;
            /** @description The questions. */
            questions: components["schemas"]["AskedQuestion"][];
        };
        /** @description How to retry a run; an empty object resumes it from where it failed. */
        Retry: {
            /**
             * @description Paths of nodes that run again as if they had never started, and all nodes after them.
             * @default []
             */
            from_nodes: string[];
            /**
             * @description Paths of completed nodes, steps and children that run again with what is recorded for them, and all nodes after them.
             * @default []
             */
            rerun: string[];
        };
        /** @description What a thing has returned. */
        Returned: {
            /** @description For an answer: who gave it. */
            by?: string | null;
            /** @description For an answer: a comment on it. */
            comment?: string | null;
            /** @description The arm that it took. */
            label?: string | null;
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /** @description The value. */
            value: unknown;
        };
        /** @description A run, without its events. Times are milliseconds since 1970. */
        Run: {
            /** @description The names of the signals that it waits for, as far as its last events show them. */
            awaited_signals: string[];
            /**
             * Format: int64
             * @description When it was started.
             */
            created: number;
            /**
             * Format: int64
             * @description When it ended, if it has.
             */
            ended?: number | null;
            /** @description The first line of its failure, at most 200 characters, if it has failed. */
            failure?: string | null;
            forked_from?: components["schemas"]["ForkedFrom"] | null;
            /** @description Its id. */
            id: string;
            /** @description The id of the run that follows it, if it has started over. */
            next?: string | null;
            /**
             * Format: int64
             * @description How many of its questions are open.
             */
            open_questions: number;
            position?: components["schemas"]["Position"] | null;
            /** @description The id of the run that it follows, which has started over. */
            previous?: string | null;
            question?: components["schemas"]["Question"] | null;
            /**
             * Format: int64
             * @description The number of its recorded events.
             */
            records: number;
            /**
             * @description Whether the workflow is registered with this server, so that runs of it can be started here. Without it, retries and
             *     forks are requested.
             */
            registered: boolean;
            /** @description Its status. */
            status: components["schemas"]["Status"];
            /** @description Its tags. */
            tags: {
                [key: string]: string;
            };
            /** @description Why its last events cannot be read, if they are damaged. */
            unreadable?: string | null;
            /**
             * Format: int64
             * @description When its status changed last.
             */
            updated: number;
            /**
             * Format: int64
             * @description When its next timer fires, if it waits for one, or when it begins.
             */
            wake_at?: number | null;
            /** @description The name of its workflow. */
            workflow: string;
        };
        /** @description An event of a run, [`graphweft::Event`]: these fields, and those of its type. */
        RunEvent: {
            /** @description Whether it is not recorded but follows from the record with the same number. */
            derived?: boolean;
            /** @description The path of what it is about. */
            path: string;
            /** @description The id of the run. */
            run_id: string;
            /**
             * Format: int64
             * @description Its number in the run.
             */
            seq: number;
            /**
             * Format: int64
             * @description When it was recorded, in milliseconds since 1970.
             */
            time: number;
            /** @description What happened: `node_started`. */
            type: string;
            /**
             * Format: int32
             * @description The format.
             */
            version: number;
        } & {
            [key: string]: unknown;
        };
        /** @description A change of the status of the run. */
        RunMove: {
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /** @description The status from there on. */
            status: components["schemas"]["Status"];
        };
        /** @description A page of runs. */
        Runs: {
            /** @description The `cursor` of the next page; null if this is the last one. */
            next?: string | null;
            /** @description The runs. */
            runs: components["schemas"]["Run"][];
        };
        /** @description Something that was said in a conversation. */
        Said: components["schemas"]["SaidWhat"] & {
            /** @description The path of the model call, the tool call or the question. */
            path: string;
            /**
             * Format: int64
             * @description The number of the event.
             */
            seq: number;
            /**
             * Format: int64
             * @description When, in milliseconds since 1970.
             */
            time: number;
        };
        /**
         * @description What was said. Texts and values are cut after 4 kB; `cut` says so, and a value is its text then. The whole is among the values of the
         *     path, but for a prompt: its first 4 kB are what is recorded.
         */
        SaidWhat: {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The text. */
            text: string;
            /** @enum {string} */
            type: "asked";
        } | {
            /**
             * Format: int64
             * @description Those of the request that came from the provider's cache.
             */
            cached_tokens?: number;
            /** @description The tools that it calls. */
            calls?: components["schemas"]["ToolCall"][];
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description Whether the reply ends at the limit of tokens. */
            cut_off?: boolean;
            /**
             * Format: int64
             * @description The tokens of the request.
             */
            input_tokens: number;
            /** @description The model, as its provider names it. */
            model: string;
            /**
             * Format: int64
             * @description The tokens of the reply.
             */
            output_tokens: number;
            /** @description The text; empty if it only calls tools. */
            text: string;
            /** @enum {string} */
            type: "replied";
        } | {
            /** @description Whether the output is longer. */
            cut?: boolean;
            /** @description The output. */
            output: unknown;
            /** @description Its name. */
            tool: string;
            /** @enum {string} */
            type: "returned";
        } | {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The name of the tool. */
            tool: string;
            /** @enum {string} */
            type: "refused";
            /** @description The reason. */
            why: string;
        } | {
            /** @description Whether a call had begun, which may have had its effect: the program of now has no such tool, or it takes other arguments. */
            begun?: boolean;
            /** @description Whether the reason is longer. */
            cut?: boolean;
            /** @description The name, as the model wrote it. */
            tool: string;
            /** @enum {string} */
            type: "not_called";
            /** @description The reason, as the model gets it; none if it got none. */
            why?: string | null;
        } | {
            /** @description Whether another attempt follows. */
            again?: boolean;
            /**
             * Format: int32
             * @description Which attempt.
             */
            attempt: number;
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The error. */
            message: string;
            /** @description The name of the tool; none for a model call. */
            tool?: string | null;
            /** @enum {string} */
            type: "failed";
        } | {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The text of the question. */
            prompt: string;
            /** @description The name of the tool. */
            tool: string;
            /** @enum {string} */
            type: "person_asked";
        } | {
            /** @description The answer. */
            answer: unknown;
            /** @description Who has answered. */
            by?: string | null;
            /** @description Whether the answer is longer. */
            cut?: boolean;
            /** @description The name of the tool. */
            tool: string;
            /** @enum {string} */
            type: "person_answered";
        };
        /** @description What this server is and lets do. */
        Server: {
            /** @description Whether requests that change something need the token from the page, in the header `X-Graphweft-Token`. */
            needs_token: boolean;
            /**
             * Format: int64
             * @description The time of the server, in milliseconds since 1970, for ages and waits.
             */
            now: number;
            /** @description Whether nothing can be changed through it. */
            read_only: boolean;
            /** @description The version of the inspector. */
            version: string;
        };
        /** @description A signal to a run. */
        Signal: {
            /** @description Who sends it. */
            by?: string | null;
            /** @description Its id: another signal with this name and id is not counted, unless this one is rejected. */
            id?: string | null;
            /** @description Its payload. */
            payload?: unknown;
        };
        /** @description What has become of a signal. */
        Signalled: {
            /** @description Whether the run had got a signal with this name and id before, so that this one does not count. */
            duplicate: boolean;
        };
        /** @description A run to start. */
        StartRun: {
            /**
             * Format: int64
             * @description Begins it so many milliseconds later.
             */
            after?: number | null;
            /** @description The id of the run; without one it gets a new one. A start with the id and the input of a run that exists returns that run. */
            id?: string | null;
            /** @description The input, by the schema of the workflow. */
            input?: unknown;
            /** @description The keys of the state that the workflow is given at its start. */
            state?: {
                [key: string]: unknown;
            };
            /** @description Tags by which it is found. */
            tags?: {
                [key: string]: string;
            };
        };
        /** @description The run that a request has led to. */
        Started: {
            /** @description Its id. */
            run: string;
        };
        /**
         * @description The state of a thing. In a [`ViewPart`] it is its index here.
         * @enum {string}
         */
        StateName: "not_reached" | "queued" | "running" | "waiting" | "sleeping" | "collecting" | "waits_to_retry" | "completed" | "failed" | "cancelled" | "skipped" | "started_over";
        /**
         * @description The status of a run. `waiting`: for an answer or a signal. `sleeping`: for a timer.
         * @enum {string}
         */
        Status: "running" | "waiting" | "sleeping" | "completed" | "failed" | "cancelled" | "started_over";
        /** @description Numbers of events: from `start` on, and before `end`. */
        Stretch: {
            /** Format: int64 */
            end: number;
            /** Format: int64 */
            start: number;
        };
        /**
         * @description Things of a run, in columns of the same length: the first thing is made of the first entry of each column. The number of
         *     a thing is its index in the columns of all parts together. Thing 0 is the run itself.
         */
        Things: {
            /** @description For what is right inside of a `[..]`: the index of the item, from 0; else -1. */
            item: number[];
            /** @description Its kind: an index of [`KINDS`](crate::view::KINDS), in this document the schema `KindName`, in its order. */
            kind: number[];
            /** @description The index of its node in the graph of the scope; -1 if it is not a node of a graph that is known. */
            node: number[];
            /**
             * @description Its path, as in events: `checkout/review#2`. For an item: the path of its `[..]` with the index,
             *     `digest/[search => sum][3]`, which no event has.
             */
            path: string[];
            /** @description For what is in a loop: the number of the turn of the innermost one, from 1; else 0. */
            turn: number[];
            /**
             * @description The thing that it is in: a workflow, an item, a child, or the node that has asked for it; -1 for the run. Where `[..]` is
             *     around a single node, the visits of that node are right in the `[..]`.
             */
            within: number[];
        };
        /** @description A tool call, as a model asks for it. */
        ToolCall: {
            /** @description The arguments. */
            arguments: unknown;
            /** @description Whether the arguments are longer. */
            cut?: boolean;
            /** @description The name of the tool, as the model wrote it. */
            tool: string;
        };
        /**
         * @description A view of a run, or what was added to it since a cursor. All lists of a view only grow, so a reader appends those of
         *     each part to the ones that it has, and the moment after event `S` is what has `seq <= S`.
         *
         *     To be small, `times`, `moves`, `taken` and `began` are lists of integers without structure. **In each of these lists of
         *     each part, a number of an event, and a time, is written as the difference to the one before in the same list; the first
         *     one is written as it is.**
         */
        ViewPart: {
            /**
             * @description For attempts of children and steps that began before their start was recorded, three numbers each: the thing, the
             *     event (difference), and by how many milliseconds before the time of that event it began.
             */
            began: number[];
            /** @description Where the next part begins, for `?since=` and as the id of a server-sent event. */
            cursor: string;
            /** @description What else has happened, in the order of the events: messages, errors, questions and so on, without the values. */
            details: components["schemas"]["Detail"][];
            /**
             * @description What has happened to the things, four numbers each: the thing, the event (difference), the state (an index of
             *     [`STATES`](crate::view::STATES), in this document the schema `StateName`, in its order) and the attempt, from 1; 0 for what
             *     has no attempts.
             */
            moves: number[];
            /** @description The last progress of each thing. Of two for one thing the later one counts. */
            progress: components["schemas"]["Progress"][];
            /** @description The changes of the status of the run, each with the number of the event. */
            runs: components["schemas"]["RunMove"][];
            /**
             * Format: int64
             * @description The number of the last event in the view; -1 if there is none.
             */
            seq: number;
            /** @description The status of the run now. */
            status: components["schemas"]["Status"];
            /**
             * @description The edges of graphs that were taken, three numbers each: the scope in whose graph the edge is (a thing of the kind
             *     `workflow` or `item`, or 0 for the graph of the run), the event (difference), and the index of the edge in that graph.
             *     Left out for `[..]` around a single node. From a `retried` on, those of the events that it voids do not count.
             */
            taken: number[];
            /** @description The new things. */
            things: components["schemas"]["Things"];
            /** @description The times of the events in the order of their numbers, in milliseconds since 1970 (differences). */
            times: number[];
            /** @description Whether this is the whole view, and not what was added since a cursor: a reader drops what it has. */
            whole: boolean;
        };
        /** @description A way into a node. Numbers are indices of `edges`. */
        Way: {
            /** @description The node runs when a value arrives by this edge. */
            Edge: number;
        } | {
            /** @description The node waits for all of these places; the edges of a place exclude each other. */
            All: {
                /** @description Whether a route may skip a place. */
                optional: boolean[];
                /** @description The edges of each place. */
                places: number[][];
            };
        } | {
            /** @description The node takes the values of these edges one after another. */
            Any: number[];
        };
        /**
         * @description What a [`Detail`] is. Texts are cut after 240 bytes; `cut` says so, and the whole is among the values of the thing. Times are
         *     milliseconds since 1970.
         */
        What: {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The text. */
            text: string;
            /** @enum {string} */
            type: "message";
        } | {
            /** @description Its name. */
            name: string;
            /** @enum {string} */
            type: "note";
        } | {
            /**
             * Format: int32
             * @description Which one.
             */
            attempt: number;
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The error, without its sources. */
            message: string;
            /** @description Whether the thing is a model call: what it is in has a [`Conversation`](crate::view::Conversation). */
            model_call?: boolean;
            /**
             * Format: int64
             * @description When the next attempt may start, if there is one.
             */
            retry_at?: number | null;
            /** @description The arm that takes the error, if one does. */
            routed?: string | null;
            /** @enum {string} */
            type: "error";
        } | {
            /** @description Whether `max_parallel` limits how many run at once. */
            bounded?: boolean;
            /** @description For a child: the hash of its graph, for `GET /api/graphs/{hash}`. */
            graph?: string | null;
            /**
             * Format: int64
             * @description How many items it has; 1 for a workflow.
             */
            items: number;
            /** @enum {string} */
            type: "entered";
            /**
             * Format: int64
             * @description Until when it may take.
             */
            until?: number | null;
        } | {
            /**
             * Format: int64
             * @description How many tools it calls.
             */
            calls: number;
            /**
             * Format: int64
             * @description The tokens of the request.
             */
            input_tokens: number;
            /** @description The model, as its provider names it. */
            model: string;
            /**
             * Format: int64
             * @description The tokens of the reply.
             */
            output_tokens: number;
            /** @enum {string} */
            type: "replied";
        } | {
            /** @description As written. */
            label: string;
            /** @enum {string} */
            type: "label";
        } | {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The text of the question. */
            prompt: string;
            /** @enum {string} */
            type: "asked";
            /**
             * Format: int64
             * @description Until when the node waits.
             */
            until?: number | null;
        } | {
            /** @description By whom. */
            by?: string | null;
            /** @description A comment on the answer. */
            comment?: string | null;
            /** @enum {string} */
            type: "answered";
            /** @description Whether its type is not checked yet. */
            unchecked?: boolean;
        } | {
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description Where in the value; `.` for the whole. */
            field: string;
            /** @description The mismatch. */
            message: string;
            /** @enum {string} */
            type: "rejected";
        } | {
            /** @enum {string} */
            type: "timer";
            /**
             * Format: int64
             * @description When it fires.
             */
            until: number;
        } | {
            /** @description The name of the signal. */
            signal: string;
            /** @enum {string} */
            type: "awaits";
            /**
             * Format: int64
             * @description Until when it waits.
             */
            until?: number | null;
        } | {
            /**
             * Format: int64
             * @description The number of the event in which the signal came.
             */
            signal: number;
            /** @enum {string} */
            type: "delivered";
        } | {
            /** @description Who sent it. */
            by?: string | null;
            /** @description Its id. */
            id?: string | null;
            /** @description Its name. */
            name: string;
            /** @enum {string} */
            type: "signal";
        } | {
            /** @enum {string} */
            type: "reused";
        } | {
            /**
             * Format: int64
             * @description When.
             */
            at: number;
            /** @enum {string} */
            type: "begins";
        } | {
            /** @enum {string} */
            type: "limit";
            /**
             * Format: int64
             * @description When the time is up.
             */
            until: number;
        } | {
            /**
             * Format: int64
             * @description The number of the owner in the store.
             */
            owner: number;
            /** @enum {string} */
            type: "resumed";
        } | {
            /** @enum {string} */
            type: "graph_changed";
        } | {
            /** @description Nodes that run again, and all after them. */
            from_nodes?: string[];
            /** @description Nodes, steps and children that run again with what is recorded for them. */
            rerun?: string[];
            /** @enum {string} */
            type: "retried";
            /** @description The numbers of the voided events, as half-open ranges. */
            voids: components["schemas"]["Stretch"][];
        } | {
            /** @enum {string} */
            type: "starts_over";
        } | {
            /** @description Its id. */
            run: string;
            /** @enum {string} */
            type: "next";
        } | {
            /** @enum {string} */
            type: "cancel_requested";
        } | {
            /** @enum {string} */
            type: "cancelling";
        } | {
            /** @enum {string} */
            type: "timed_out";
        } | {
            /**
             * Format: int32
             * @description The number of attempts there.
             */
            attempts: number;
            /** @description Whether the text is longer. */
            cut?: boolean;
            /** @description The error, without its sources. */
            message: string;
            /** @description The path in the failure. */
            path: string;
            /** @enum {string} */
            type: "run_failed";
        };
        /** @description A registered workflow. */
        Workflow: {
            /** @description Its doc comment. */
            doc: string;
            /** @description Its name. */
            name: string;
            /** @description How many nodes its graph has, without those inside of `[..]` and of nested workflows. */
            nodes: number;
        };
        /** @description The registered workflows. */
        Workflows: {
            /** @description Their names, in order. */
            workflows: components["schemas"]["Workflow"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    watch_runs: {
        parameters: {
            query?: {
                /** @description Of runs of one of these workflows */
                workflow?: string[];
                /** @description Of runs with all of these tags, each `key=value`; may be repeated */
                tag?: string[];
                /** @description `beginning`, or the id of an event of this stream; without it, `Last-Event-ID` counts */
                after?: string;
            };
            header?: {
                /** @description The id of the last event that was read */
                "Last-Event-ID"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["FeedChange"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    count_runs: {
        parameters: {
            query?: {
                /** @description Of one of these workflows */
                workflow?: string[];
                /** @description With all of these tags, each `key=value`; may be repeated */
                tag?: string[];
                /** @description Whose ids begin with this */
                id_prefix?: string;
                /** @description Forks of this run */
                forked_from?: string;
                /** @description Started at this time or later, in milliseconds since 1970 */
                from?: number;
                /** @description Started before this time */
                until?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Counts"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hash, as 16 hexadecimal digits */
                hash: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graphs"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_questions: {
        parameters: {
            query?: {
                /** @description Of runs of one of these workflows */
                workflow?: string[];
                /** @description Of runs with all of these tags, each `key=value`; may be repeated */
                tag?: string[];
                /** @description Of runs whose ids begin with this */
                id_prefix?: string;
                /** @description With this name, whatever the key */
                name?: string;
                /** @description How many; 50 without it */
                limit?: number;
                /** @description `next` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Questions"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description With one of these statuses */
                status?: components["schemas"]["Status"][];
                /** @description Of one of these workflows */
                workflow?: string[];
                /** @description With all of these tags, each `key=value`; may be repeated */
                tag?: string[];
                /** @description Whose ids begin with this */
                id_prefix?: string;
                /** @description Forks of this run */
                forked_from?: string;
                /** @description Started at this time or later, in milliseconds since 1970 */
                from?: number;
                /** @description Started before this time */
                until?: number;
                /** @description `newest` (first), or `oldest` */
                order?: string;
                /** @description How many; 50 without it */
                limit?: number;
                /** @description `next` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Runs"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run, percent-encoded */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    answer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
                /** @description The id of the question, percent-encoded as a whole, or its name */
                question: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Answer"];
            };
        };
        responses: {
            /** @description It is accepted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answered"];
                };
            };
            /** @description It is recorded, and may still be rejected */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answered"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description The run has ended: it is cancelled, or had ended before and has not changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cancellation"];
                };
            };
            /** @description Cancellation is requested */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cancellation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_conversation: {
        parameters: {
            query: {
                /** @description The path of the node, or of a model call */
                path: string;
                /** @description The number of the last event that counts */
                at?: number;
            };
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watch_events: {
        parameters: {
            query?: {
                /** @description Events behind this position; without it, `Last-Event-ID` counts */
                after?: string;
            };
            header?: {
                /** @description The position of the last event that was read */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["RunEvent"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    fork_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Fork"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graphs"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watch_view: {
        parameters: {
            query?: {
                /** @description `cursor` of a part that the reader has; without it, `Last-Event-ID` counts */
                since?: string;
            };
            header?: {
                /** @description The id of the last event that was read */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["ViewPart"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_questions_of_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Retry"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_signals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AwaitedSignal"][];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
                /** @description The name of the signal */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Signal"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Signalled"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_values: {
        parameters: {
            query: {
                /** @description The path of the thing; that of the run is the name of its workflow */
                path: string;
                /** @description The number of the last event that counts */
                at?: number;
            };
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeValues"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_view: {
        parameters: {
            query?: {
                /** @description `cursor` of a part; what was added since. The whole if the server does not know it any more */
                since?: string;
            };
            header?: never;
            path: {
                /** @description The id of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ViewPart"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_server: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
        };
    };
    list_workflows: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflows"];
                };
            };
        };
    };
    get_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graphs"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_picture: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the workflow */
                name: string;
                /** @description `mermaid` or `dot` */
                format: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRun"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
type FlattenedDeepRequired<T> = {
    [K in keyof T]-?: FlattenedDeepRequired<T[K] extends unknown[] | undefined | null ? Extract<T[K], unknown[]>[number] : T[K]>;
};
type ReadonlyArray<T> = [
    Exclude<T, undefined>
] extends [
    unknown[]
] ? Readonly<Exclude<T, undefined>> : Readonly<Exclude<T, undefined>[]>;
export const kindNameValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["KindName"]> = ["run", "node", "workflow", "each", "item", "child", "step", "question", "timer", "wait"];
export const nodeKindOneOf0Values: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["NodeKind"]> = ["Start"];
export const nodeKindOneOf1Values: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["NodeKind"]> = ["End"];
export const nodeKindOneOf2Values: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["NodeKind"]> = ["Step"];
export const saidWhatOneOf0TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["asked"];
export const saidWhatOneOf1TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["replied"];
export const saidWhatOneOf2TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["returned"];
export const saidWhatOneOf3TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["refused"];
export const saidWhatOneOf4TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["not_called"];
export const saidWhatOneOf5TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["failed"];
export const saidWhatOneOf6TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["person_asked"];
export const saidWhatOneOf7TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["SaidWhat"], {
    type: unknown;
}>["type"]> = ["person_answered"];
export const stateNameValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["StateName"]> = ["not_reached", "queued", "running", "waiting", "sleeping", "collecting", "waits_to_retry", "completed", "failed", "cancelled", "skipped", "started_over"];
export const statusValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Status"]> = ["running", "waiting", "sleeping", "completed", "failed", "cancelled", "started_over"];
export const whatOneOf0TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["message"];
export const whatOneOf1TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["note"];
export const whatOneOf2TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["error"];
export const whatOneOf3TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["entered"];
export const whatOneOf4TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["replied"];
export const whatOneOf5TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["label"];
export const whatOneOf6TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["asked"];
export const whatOneOf7TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["answered"];
export const whatOneOf8TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["rejected"];
export const whatOneOf9TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["timer"];
export const whatOneOf10TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["awaits"];
export const whatOneOf11TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["delivered"];
export const whatOneOf12TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["signal"];
export const whatOneOf13TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["reused"];
export const whatOneOf14TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["begins"];
export const whatOneOf15TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["limit"];
export const whatOneOf16TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["resumed"];
export const whatOneOf17TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["graph_changed"];
export const whatOneOf18TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["retried"];
export const whatOneOf19TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["starts_over"];
export const whatOneOf20TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["next"];
export const whatOneOf21TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["cancel_requested"];
export const whatOneOf22TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["cancelling"];
export const whatOneOf23TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["timed_out"];
export const whatOneOf24TypeValues: ReadonlyArray<Extract<FlattenedDeepRequired<components>["schemas"]["What"], {
    type: unknown;
}>["type"]> = ["run_failed"];
