import '../base.css'
