import type { components } from './schema.gen';

type Schemas = components['schemas'];

export type Answered = Schemas['Answered'];
export type AskedQuestion = Schemas['AskedQuestion'];
export type Counts = Schemas['Counts'];
export type Detail = Schemas['Detail'];
export type FeedChange = Schemas['FeedChange'];
export type Graph = Schemas['Graph'];
export type GraphEdge = Schemas['GraphEdge'];
export type GraphNode = Schemas['GraphNode'];
export type Graphs = Schemas['Graphs'];
export type KindName = Schemas['KindName'];
export type NodeValues = Schemas['NodeValues'];
export type Problem = Schemas['Problem'];
export type Progress = Schemas['Progress'];
export type Question = Schemas['Question'];
export type Questions = Schemas['Questions'];
export type Run = Schemas['Run'];
export type Runs = Schemas['Runs'];
export type Server = Schemas['Server'];
export type Started = Schemas['Started'];
export type StateName = Schemas['StateName'];
export type Status = Schemas['Status'];
export type ViewPart = Schemas['ViewPart'];
export type Workflow = Schemas['Workflow'];
export type Workflows = Schemas['Workflows'];
