import { createRoot } from 'react-dom/client';
import { App } from './shell/App';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/top.css';
import './styles/blank.css';
import './styles/runs.css';
import './styles/run.css';
import './styles/graph.css';
import './styles/waterfall.css';
import './styles/detail.css';
import './styles/pages.css';
import './styles/forms.css';

createRoot(document.getElementById('root')!).render(<App />);
